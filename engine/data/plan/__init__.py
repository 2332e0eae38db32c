"""The plan of a campaign's data: one TOML file."""
