"""Other forms of elementwise expressions, equal in real numbers, that lose fewer bits or run faster."""
