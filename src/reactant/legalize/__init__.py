"""What XLA gets in place of a module: the same program in forms of which XLA computes what is meant."""
