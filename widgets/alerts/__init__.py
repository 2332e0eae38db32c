"""Alerts: a strip for every screen, and columns of their table."""
