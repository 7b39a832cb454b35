"""The store on a real SQLite file: a package, so that its helpers have names of their own."""
