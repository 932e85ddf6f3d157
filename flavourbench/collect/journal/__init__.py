"""The journal: one SQLite file that holds every attempt ever made, and what became of it."""
