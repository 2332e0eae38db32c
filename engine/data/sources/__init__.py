"""Where records come from: local files and the Hugging Face hub, row by row in constant memory."""
