"""The server's own description: an OpenAPI document, made from the types that check and answer, and its page."""
