"""What the Check screen does off the event loop: read what was typed, run the rules, watch the files."""
