"""What strangers may try: each attack is a test."""
