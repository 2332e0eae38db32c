"""The host in one line."""
