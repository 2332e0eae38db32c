"""What follows from a deployment's files and flags: families, dimensions, captured layers, release boundaries."""
