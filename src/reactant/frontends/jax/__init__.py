"""JAX functions and StableHLO text as parts of a program."""
