"""The page in a real Chromium: a package, so that its helpers have names of their own."""
