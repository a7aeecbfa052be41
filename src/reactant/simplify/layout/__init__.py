"""Where elements lie: shapes, slices, and what is read of a result."""
