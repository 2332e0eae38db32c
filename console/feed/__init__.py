"""Brings what changes in the state database to the screens, off the event loop."""
