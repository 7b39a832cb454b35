"""Research: a question, the web searched and read for it in rounds, and a report whose claims cite what was read."""
