"""What a record looks like, and how it becomes messages up to the turn that the target must answer."""
