"""Running StableHLO modules: executables, device arrays, devices, and the memory behind results."""
