"""A region as plain Python objects, and what is known of its values."""
