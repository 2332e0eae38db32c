"""Widgets for training data: searches, plans, preparations."""
