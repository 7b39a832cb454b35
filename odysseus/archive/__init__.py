"""Conversations as files: what an export says, and what is taken from one. Knows stored values, no request."""
