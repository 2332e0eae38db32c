"""What a comparison looks like as text, Markdown, CSV, JSONL and HTML."""
