"""Odysseus: a local AI workspace in one process."""

__version__ = "0.1.0"
