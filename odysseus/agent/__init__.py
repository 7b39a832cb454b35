"""The loop that turns one request into model rounds. Knows providers, never sockets."""
