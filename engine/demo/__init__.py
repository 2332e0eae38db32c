"""The demonstration: the whole campaign in small, on any CPU."""
