"""Where cotangents are zero by masks."""
