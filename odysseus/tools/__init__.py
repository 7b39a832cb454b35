"""What the agent can do. Knows no model, no run, no dialect."""
