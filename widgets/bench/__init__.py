"""Widgets of the Bench screen."""
