"""Runs a plan: reads, filters, removes copies, mixes, writes shards; goes on after a kill with the same bytes."""
