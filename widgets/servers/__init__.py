"""Servers: columns of their table."""
