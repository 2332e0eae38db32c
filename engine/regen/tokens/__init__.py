"""Tokens in place of text: the target's tokenizer and template, what it was asked and emitted, rows to train on."""
