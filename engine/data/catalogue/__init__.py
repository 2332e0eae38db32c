"""What is known of data sets before any search: the starting catalogue, and which sets are benchmarks."""
