"""GPU kernels, C and LLVM IR as parts of compiled functions: raised to tensors, or compiled for the CPU."""
import sys


def install() -> None:
    """Recognise launches of Numba kernels in functions about to be compiled, if numba.cuda is loaded at all."""
    if "numba.cuda.dispatcher" in sys.modules:
        from reactant.kernels.ways_in import numba_host
        numba_host.register()
