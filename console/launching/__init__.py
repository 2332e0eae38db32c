"""What the launch form does off the event loop: fields from a recipe, what was typed, what would be launched."""
