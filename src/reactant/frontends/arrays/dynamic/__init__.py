"""Arrays of run-time extent: a frame of static shape, and how much of it counts."""
