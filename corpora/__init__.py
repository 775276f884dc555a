"""What engines are run on: catalogue, readers, battery, fuzz and class tuples."""
