"""GPUs: a list for the overview, columns for the table."""
