"""Benchmarks: workloads, load generator, sweeps, economics, comparison."""
