"""A campaign's funnel, its steps and its outlook."""
