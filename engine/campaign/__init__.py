"""Campaigns: from prompts to a measured speed-up, each step made from the ones before it."""
