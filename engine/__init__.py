"""All that works without a screen."""
