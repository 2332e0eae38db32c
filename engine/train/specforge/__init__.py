"""Trainings by SpecForge: their configuration, command, estimates, checks and progress."""
