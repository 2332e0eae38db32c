"""How the shipped checkpoint was made: `python -m engine.reference.training --help` (needs the extra `train`)."""
