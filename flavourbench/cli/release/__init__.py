"""``fb release``: releases in the published layout, one file per command."""
