"""What every `--json` prints, as types: the schemas, docs/json.md and a test are made from them.

Keys are added, never renamed or dropped.
"""
