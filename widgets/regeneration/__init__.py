"""Regenerations: a pane with bar, speed and ETA, and columns of their table."""
