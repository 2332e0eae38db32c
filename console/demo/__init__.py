"""`alula demo`: the whole campaign in small, by the same commands that an operator types."""
