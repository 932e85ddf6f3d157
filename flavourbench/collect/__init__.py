"""Responses: who is asked, how, what came back, and what became of each cell."""
