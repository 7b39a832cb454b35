"""What goes into the model's prompt."""
