"""Recipes: how a kind of job is launched, as a small TOML file that a form and a command line are made from."""
