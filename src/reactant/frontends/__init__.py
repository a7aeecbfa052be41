"""Ways in: each turns a program into one StableHLO module."""
