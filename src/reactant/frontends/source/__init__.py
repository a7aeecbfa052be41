"""From Python source to Python source: one statement or form a file, and where the user's lines are."""
