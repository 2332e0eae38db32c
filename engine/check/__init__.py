"""The checker: what is read, the rules, findings, fixes."""
