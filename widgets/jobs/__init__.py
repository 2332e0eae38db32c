"""Jobs: columns of their table, and one job's facts."""
