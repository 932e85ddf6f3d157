"""From a score table to a release: matrix, plan, inference, release folder."""
