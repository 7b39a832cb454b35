"""Model providers: request in, chunks out. They know neither runs nor tools."""
