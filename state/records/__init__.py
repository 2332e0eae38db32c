"""Frozen, typed records: what the tables hold and what the widgets draw. Times are UTC seconds since the epoch."""
