"""Programs of several processes: who they are, what ends them together, and what they leave on disk."""
