"""The files of the embedded models: which there are, and how they get here."""
