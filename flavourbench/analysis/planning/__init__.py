"""What a planned study can find: floors, power, detectable differences, clusters needed."""
