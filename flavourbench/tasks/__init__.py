"""Tasks: eight labelled candidates, 56 portfolios, and how answers are read."""
