"""Says what was found: text for a terminal, JSON, SARIF, a corrected command."""
