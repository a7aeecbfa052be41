"""A launch: its arguments and memory, which way it runs, and what it becomes."""
