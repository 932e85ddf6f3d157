"""``fb env``: the environment and its operations, one file per command."""
