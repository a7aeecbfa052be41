"""Elements by index and by order: gather, scatter, sort."""
