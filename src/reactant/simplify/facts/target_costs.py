"""What the target runs fastest, as numbers: thresholds read off benchmarks/forms.py, one row a target.

The rules of the target stage (`target*.py`) look only here. A target without a row keeps every form as it is. Which
target that is: the one a compilation asks for (`CompileOptions.target`), else jax's default platform.
"""
from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

from reactant.runtime.devices import default_device
from reactant.support import folders


@dataclass(frozen=True)
class Costs:
    """Thresholds of one target; element counts unless said. Measured ratios (first form / second) are in comments."""

    sum_of_slices_trailing: int
    """Most elements of a reduction over trailing dimensions that become a chain over slices."""
    sum_of_slices: int
    """The same where the innermost dimension stays."""
    recomputed_terms: int
    """Recompute or keep: most elements of a reduction of what lies in memory that becomes slices although more elements
    are made of its results than there are, for each of which XLA adds them anew. Results of longer ones are kept."""
    least_elements: int
    """Arrays smaller than this keep their form: there is nothing to gain but work for the compiler."""
    select_fraction: float
    """Least part of an array whose update is a select over the whole array rather than a write in place."""
    select_fraction_reading: float
    """The same where the update reads the array elsewhere, so that the write in place needs a copy first."""
    small_read: int
    """A slice of at most the array over this is gathered from before the updates rather than read between them."""
    layers: int
    """Most layers of an array that are told apart when one is updated."""
    unrolled_contraction: int
    """Longest contraction of a small product that becomes a sum of products."""
    unrolled_free: int
    """Most free elements of the smaller side of such a product."""
    window_as_slices: int
    """Most elements of a window (of one dimension) that become shifted slices."""
    windows_of_library: bool
    """Whether windows that only a reduction reads stay as they are: a library makes both."""
    convolution_as_slices: int
    """Most elements of the kernel of a one-channel convolution that becomes a sum of shifted slices."""
    doubled_operations: int
    """Most ops of a loop after its body has been repeated so that arrays come back to where they were."""
    flat_rows: bool
    """Whether rows that make an array are put side by side as one long row, and reshaped together."""
    fixed_powers: bool
    """Whether powers of known small exponents are products and roots."""
    stencil_as_convolution: int
    """Least taps of a weighted sum of shifted slices that becomes a convolution; 0 for never."""
    argmax_as_reductions: int
    """Least elements of which the greatest and its place are found by two plain reductions rather than one of pairs."""
    gather_as_selects: int
    """Most rows of a table that is looked up by selecting among its rows."""
    unrolled_iterations: int
    """Most iterations of a loop of known trip count that is unrolled,"""
    unrolled_operations: int
    """and most ops in all of them together."""
    chunk_bytes: int
    """What a batch of iterations may make, where all iterations of a loop make too much; 0: such a loop stays as it
    is."""
    window_elements: int
    """Most elements, of all iterations together, of arrays of which each iteration uses a window whose ends are only
    known at run time, for the iterations to be done at once; 0: whatever there are."""
    transposed_factor: int
    """Least columns of a product of matrices whose left factor is stored transposed, for which it is turned first; 0
    for never."""
    scan_iterations: int
    """Least iterations of a loop that carries a recurrence for which it becomes an associative scan; 0 for never."""
    other_order: int
    """Products of numbers in a product of matrices from which another order of a chain avoids it. The result is looked
    at: where it is not finite, the products are made as they were written."""
    complex_product: int
    """Products of numbers in a product of complex matrices from which it is four of real ones; 0 for never."""
    class_sums: int
    """Products of numbers in sums by class (a product with one-hot rows) from which these are added one after the
    other; 0 for never."""
    real_transform: int
    """Elements of real numbers from which their whole transform is made of the half that determines it; 0 for never."""
    toeplitz_as_convolution: int
    """Least side of a Toeplitz matrix whose product with a vector becomes a convolution; 0 for never."""
    sort_network: int
    """Most elements of rows that are sorted by a network of exchanges, all rows at once; 0 for never."""
    key_ranges: int
    """Least iterations of a loop that reduces what a range of a key selects, each of another range, for which the key
    is put in the order of the ranges first; 0 for never."""
    banded_solve: int
    """Least side of a tridiagonal system that LAPACK's routine for such solves, not LU; 0 where there is none."""


CPU = Costs(
    sum_of_slices_trailing=12,       # 2: 22x, 4: 18x, 8: 1.5x (f64) and 17x (f32), 10: 1.3x, 12: 1.2x, 16: 0.7x
    sum_of_slices=16,                # leading 2: 2.3x, 4: 3.2x, 8: 15x, 16: 48x
    recomputed_terms=0,              # rows over their sums: 2: 0.9x, 4: 0.8x, 6: 2.0x, 12: 1.3x; `calibrate` decides
    least_elements=1_024,            # 4096 elements: 1.0x to 1.5x
    select_fraction=0.25,
    select_fraction_reading=0.1,     # 1/8: 1.6x, 1/4: 2.1x, 1/2: 2.6x, all: 7.4x
    small_read=8,                    # ghost cells of 128x128, 258x258, 512x512: 1.5x, 1.5x, 1.7x
    layers=4,                        # a denoiser that carries a stack of 2: 1.15x
    unrolled_contraction=4,          # batched 4x4: 9x to 400x, 8x8: 1.2x, 16x16: 0.6x
    unrolled_free=4,                 # (262144, 3) (3, 3): 10x to 100x; (3, 3) (3, 262144): 1.0x to 1.8x
    window_as_slices=9,              # sums 3: 3.4x, 7: 4.7x; maxima 3: 6x, 5: 30x, 7: 22x (512x512 f64)
    windows_of_library=True,         # 2x2 maxima, summed: 1.6x; 3x3 sums, summed: 1.9x (f32), 10x (f64)
    convolution_as_slices=49,        # 3x3: 1.4x (f64) and 200x (f32), 7x7: 1.1x and 48x
    doubled_operations=400,          # u, before = step(u, before), u on 512x512: 2.3x, a, b = b + a / 2, a: 3.7x
    flat_rows=True,                  # a chain that stores each of 64 rows: XLA compiles 5.5 s without, 0.9 s with
    fixed_powers=True,               # x^1.5: 11x (f32), 24x (f64)
    stencil_as_convolution=0,        # 3x3: 1.4x to 200x slower
    argmax_as_reductions=1_024,      # rows: 4x (f32), 1.9x (f64)
    gather_as_selects=0,
    unrolled_iterations=4,                # an iteration is a jump; unrolled ones fuse
    unrolled_operations=64,
    chunk_bytes=0,                   # the loop is native code, and its iterations stay in the cache
    window_elements=1 << 14,         # the native loop looks at nothing outside of the window
    transposed_factor=4,             # (512, 512)' (512, n), f32: 1: 0.2x, 4: 3.9x, 16: 3.1x, 512: 1.3x; f64: 2: 0.9x,
                                     # 4: 1.1x, 16: 1.9x, 512: 2.0x; gradients of weights, (800, 32)' (800, 256): 2.5x
    scan_iterations=0,                    # a scalar recurrence runs in registers: 2 ns an iteration
    other_order=1 << 20,             # benchmarks/corpus.py, chain_times_vector: 15x; not measured lower
    complex_product=1 << 20,         # c64, c128: 64^3: 1.1x, 1.2x; 128^3: 1.7x, 1.6x; 512^3: 1.4x, 1.7x
    class_sums=1 << 16,              # 20,000 rows of 16, 10 classes: 2.0x, 100: 9.2x, 1000: 137x; of 1: 1.8x, 3.8x, 18x
    real_transform=1 << 17,          # f32, f64: 2^16: 0.9x, 2^17: 1.7x, 1.2x, 2^20: 1.7x, 2.2x, 256 x 4096: 1.6x, 1.4x,
                                     # 512 x 512, both: 1.4x, 1.3x
    toeplitz_as_convolution=512,     # gather and product over convolution: 256: 0.8x, 1024: 2.0x, 2048: 3.0x
    sort_network=12,                 # 20,000 rows of f64, 4: 3.2x, 8: 3.7x, 12: 1.9x, 16: 2.5x, their medians 1.3x;
                                     # with places 4: 19x, 8: 4.5x, 12: 4.0x; in loops 4: 5.7x, 8: 12x, 20: 14x
    key_ranges=96,                   # 20,000 elements, f64, 96: 0.9x, 256: 1.3x, 1000: 5x; 100,000, 64: 0.9x,
                                     # 128: 1.2x, 256: 2.0x, 1000: 7x; a million, 32: 1.1x, 64: 1.5x, 96: 3x
    banded_solve=8,                  # LU over the routine for three diagonals: 8: 1.1x, 16: 2.8x, 64: 3.2x, 256: 13x
)
"""AMD EPYC (AVX-512), jaxlib 0.10.2, one core."""

GPU = Costs(
    sum_of_slices_trailing=0,        # 2: 0.96x, 4: 0.9x, 8: 0.5x, 24: 0.3x
    sum_of_slices=4,                 # 2 to 32: 1.0x; a sum of up to 4 terms fuses with what follows, a reduction ends a
                                     # fusion
    recomputed_terms=0,              # rows over their sums: 2: 1.0x, 3: 0.8x, 4: 0.6x, 8: 0.3x
    least_elements=65_536,           # 3.35 TB/s (H100) against some 4 us a launch: below, only launches count
    select_fraction=0.9,             # 1/4: 0.9x, 1/2: 1.0x, 9/10: 1.2x
    select_fraction_reading=0.25,    # 1/10: 0.9x, 1/4: 1.1x, 1/2: 1.5x
    small_read=8,
    layers=4,
    unrolled_contraction=4,          # a million products 2x2: 5.4x, 3x3: 5.8x, 4x4: 4.1x, 6x6: 0.5x, 8x8: 1.2x
    unrolled_free=4,
    window_as_slices=0,              # 2: 1.0x, 3: 0.5x, 5: 0.7x, 7: 0.8x, 9: 1.1x, 13: 1.7x
    windows_of_library=False,
    convolution_as_slices=81,        # 2x2: 1.5x, 3x3: 1.0x, 5x5: 2.2x, 7x7: 1.0x, 9x9: 2.3x
    doubled_operations=400,
    flat_rows=False,                 # not measured
    fixed_powers=True,               # x^1.5: 4 million: 0.9x, 16 million: 1.3x
    stencil_as_convolution=0,        # 2x2: 0.9x, 3x3: 0.9x, 5x5: 0.8x, 7x7: 1.0x
    argmax_as_reductions=0,          # rows of 256: 65,536: 1.0x, a million: 0.7x, 16 million: 0.9x
    gather_as_selects=0,             # 2 to 16 rows: 1.0x
    unrolled_iterations=16,               # 2: 1.6x, 4: 1.7x, 8: 2.1x, 16: 2.9x
    unrolled_operations=256,
    chunk_bytes=1 << 26,             # the L2 cache (50 MB of H100, 40 of A100) holds most of it
    window_elements=0,               # an iteration is some launches: all elements at once are nothing beside them
    transposed_factor=0,             # 2 to 64 columns: 1.0x to 1.1x
    # 32: 5.0x, 256: 31x, 2,048: 110x, 16,384: 790x (an iteration of a loop: 20 us)
    scan_iterations=32,
    other_order=1 << 32,             # a branch is read by the host: 10 us, in which 67 Tflop/s do 2^28 products
    complex_product=0,               # the library has them
    class_sums=0,                 # not measured: additions to one place wait for each other
    real_transform=0,                # not measured
    toeplitz_as_convolution=0,       # gather and product over convolution: 128: 0.9x, 1,024: 0.4x
    sort_network=12,                 # a million rows of i64, 3: 10x, 6: 5.3x, 12: 3.1x, 16: 1.1x
    key_ranges=0,                    # iterations are kernels that look at all elements
    banded_solve=8,                  # LU over cuSPARSE's routine: 4: 1.2x, 8: 1.6x, 16: 1.3x, 64: 1.3x
)
"""NVIDIA H100 80GB HBM3, jaxlib 0.11.2, by `reactant calibrate` on 2026-11-26; what has no figure is not measured, but
follows from the data sheet (3.35 TB/s, 67 Tflop/s of f32, 989 of bf16 on tensor cores) and a launch's 3 to 5 us."""

TPU = Costs(
    sum_of_slices_trailing=0,        # the innermost dimension lies on 128 lanes: slices of it are shuffles
    sum_of_slices=8,                 # slices of outer dimensions are whole registers of 8x128
    recomputed_terms=8,              # a reduction over lanes costs more
    least_elements=4_096,            # four registers of 8x128
    select_fraction=0.5,             # unaligned writes rotate lanes; a select does not
    select_fraction_reading=0.1,
    small_read=8,
    layers=4,
    unrolled_contraction=4,          # the matrix unit is 128x128 (256x256 on v6e): 4x4 uses a thousandth of it
    unrolled_free=4,
    window_as_slices=0,              # shifts by one along lanes are rotations; windows are done by the convolution unit
    windows_of_library=False,
    convolution_as_slices=0,
    doubled_operations=400,
    flat_rows=False,                 # not measured
    fixed_powers=True,
    stencil_as_convolution=3,        # taps become a contraction on the matrix unit: 275 Tflop/s (v4) beside 4.3
    argmax_as_reductions=0,
    gather_as_selects=16,            # gathers go element by element; a select is one pass over registers
    unrolled_iterations=8,
    unrolled_operations=256,
    chunk_bytes=1 << 26,             # VMEM has 16 to 128 MB; a chunk is far above a launch
    window_elements=0,               # not measured
    transposed_factor=0,             # the compiler chooses layouts
    scan_iterations=32,                   # an iteration is a kernel or more of about a microsecond
    other_order=1 << 34,             # not measured
    complex_product=0,               # the library has them
    class_sums=0,                 # not measured
    real_transform=0,                # not measured
    toeplitz_as_convolution=0,       # not measured
    sort_network=0,                  # not measured
    key_ranges=0,                    # iterations are kernels that look at all elements
    banded_solve=0,                  # the routine is LAPACK's, on a CPU
)
"""Not measured: from the published figures of Cloud TPU (v4: 275 Tflop/s of bf16 on four 128x128 matrix units a core,
1.2 TB/s, 8x128 vector registers; v5e: 197 and 0.82) and the performance guide of Cloud TPU (tiling, padding)."""

BY_PLATFORM = {"cpu": CPU, "gpu": GPU, "tpu": TPU}
TARGETS = tuple(BY_PLATFORM)

_chosen: list[str | Costs | None] = [None]
_calls = [False]


@contextmanager
def target(name: str | Costs | None, calls: bool = False) -> Iterator[None]:
    """Let `costs` speak of one target; None for jax's default platform. Callers hold the lock of `ir.context`. Numbers
    of one's own are a target, too. calls: whether native code may be called on it."""
    before = _chosen[0], _calls[0]
    _chosen[0] = default_platform() if name is None else name
    _calls[0] = calls and _chosen[0] == "cpu"
    try:
        yield
    finally:
        _chosen[0], _calls[0] = before


def may_call() -> bool:
    """Whether the program may become one that calls native code."""
    return _calls[0]


def default_platform() -> str:
    """That of jax's default device: "cpu", "gpu" or "tpu"."""
    return default_device().platform


def shipped(name: str | None = None) -> Costs | None:
    """The defaults of a target (of jax's default platform); None where there are none."""
    return BY_PLATFORM.get(name or default_platform())


def device_name() -> str:
    """Platform and kind of jax's default device."""
    device = default_device()
    return f"{device.platform} {device.name}"


def stored_at() -> Path:
    """Where `reactant calibrate` stores what it measures for this device and jaxlib."""
    import jaxlib
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{device_name()} {platform.machine()} jaxlib {jaxlib.__version__}")
    return Path(folders.home()) / f"calibration-{name}.json"


def costs() -> Costs | None:
    """The costs of the target in question: the shipped ones and, where it is jax's default platform, those measured on
    this machine in their place (not with REACTANT_CALIBRATION=off in the environment). None where there are none."""
    chosen = _chosen[0] or default_platform()
    return chosen if isinstance(chosen, Costs) else _costs(chosen)


@cache
def _costs(name: str) -> Costs | None:
    found = shipped(name)
    if found is None or name != default_platform() or os.environ.get("REACTANT_CALIBRATION") == "off":
        return found
    try:
        measured = json.loads(stored_at().read_text())
        known = {f.name for f in fields(Costs)}
        return replace(found, **{name: value for name, value in measured.items() if name in known})
    except (OSError, ValueError, AttributeError):
        return found


def forget() -> None:
    """Read what was measured again when it is next needed."""
    _costs.cache_clear()
