"""What an operator sees and types: the Textual app, its screens, launch forms, the command line."""
