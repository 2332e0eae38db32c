"""Finds server launches in whatever form an operator has: script, unit, manifest, process, log. Nothing is executed."""
