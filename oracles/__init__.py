"""What is right: slow, obvious implementations of contracts, written from the specifications."""
