"""SQLite. Nothing outside this package touches the database."""
