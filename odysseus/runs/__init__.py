"""Runs: what the server owns from the first byte asked for to the record kept."""
