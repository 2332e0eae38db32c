"""Training data for a draft: find it, mix it, keep it clean."""
