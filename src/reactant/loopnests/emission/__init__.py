"""From a region to loops in scf, memref and arith."""
