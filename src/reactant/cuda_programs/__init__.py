"""Whole CUDA programs on CPUs: host and device code compiled together, linked with a runtime of ours.

`driver/` is `reactant nvcc`, `host/` the headers that programs see, `device/` the compiler of device code, `runtime/`
the runtime library (C++), which is compiled once for a version and toolchain.
"""
