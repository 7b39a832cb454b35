"""What we claim about speed, each figure measured beside something else on the same machine."""
