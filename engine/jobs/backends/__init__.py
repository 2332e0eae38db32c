"""Clusters that run jobs in place of a local runner: Slurm and Ray, by their own commands and interfaces."""
