"""Small things that all rooms use: records, attributes, sessions, progress."""
