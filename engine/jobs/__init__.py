"""Jobs: scheduler, runner, adoption."""
