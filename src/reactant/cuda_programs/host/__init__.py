"""Headers for whole CUDA programs (`include/`)."""
