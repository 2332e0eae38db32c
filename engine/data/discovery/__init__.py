"""Finds data sets on the hub: scouts for domains, in rounds, in parallel."""
