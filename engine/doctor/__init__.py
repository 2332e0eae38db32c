"""What `alula doctor` looks at on this machine, and what to do where it is not as it should be."""
