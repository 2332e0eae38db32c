"""How long a test waits for what must happen: far longer than it takes, for a busy machine can stand still."""

LIMIT_S = 90.0
