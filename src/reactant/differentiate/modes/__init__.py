"""Forward and reverse mode: modules, loops, and what is kept for the reverse sweep."""
