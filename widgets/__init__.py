"""Textual widgets: they draw records and know nothing of where these come from."""
