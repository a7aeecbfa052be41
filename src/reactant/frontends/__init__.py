"""Ways in: each iterations a program into one StableHLO module."""
