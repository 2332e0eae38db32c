"""Training a draft: its configuration; more comes with the launchers."""
