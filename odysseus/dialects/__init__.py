"""Wire dialects: each writes the same events as its own bytes."""
