"""The user's library, found again: files to chunks, an index of words and of vectors. Knows no run and no prompt."""
