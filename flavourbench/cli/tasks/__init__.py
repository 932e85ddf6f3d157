"""``fb tasks``: panels and their tasks, one file per command."""
