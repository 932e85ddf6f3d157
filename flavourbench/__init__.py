"""Reference software for ranking language models against executable ground truth."""

__version__ = "0.1.0"
