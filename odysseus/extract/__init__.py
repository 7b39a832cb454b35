"""Files to text, once, for every dialect and for retrieval. Knows no session, no model and no store."""
