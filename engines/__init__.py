"""What is run: the roster, the host, adapters, and our own engines."""
