"""What the target runs fastest, as numbers: thresholds read off benchmarks/forms.py, one row a target.

The rules of the target stage (`target*.py`) look only here. A target without a row keeps every form as it is.
"""
from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Costs:
    """Thresholds of one target; element counts unless said. Measured ratios (first form / second) are in comments."""

    sum_of_slices_trailing: int
    """Most elements of a reduction over trailing dimensions that become a chain over slices."""
    sum_of_slices: int
    """The same where the innermost dimension stays."""
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
    convolution_as_slices: int
    """Most elements of the kernel of a one-channel convolution that becomes a sum of shifted slices."""
    doubled_operations: int
    """Most ops of a loop after its body has been repeated so that arrays come back to where they were."""


CPU = Costs(
    sum_of_slices_trailing=12,       # 2: 22x, 4: 18x, 8: 1.5x (f64) and 17x (f32), 10: 1.3x, 12: 1.2x, 16: 0.7x
    sum_of_slices=16,                # leading 2: 2.3x, 4: 3.2x, 8: 15x, 16: 48x
    least_elements=1_024,            # 4096 elements: 1.0x to 1.5x
    select_fraction=0.25,
    select_fraction_reading=0.1,     # 1/8: 1.6x, 1/4: 2.1x, 1/2: 2.6x, all: 7.4x
    small_read=8,                    # ghost cells of 128x128, 258x258, 512x512: 1.5x, 1.5x, 1.7x
    layers=4,                        # a denoiser that carries a stack of 2: 1.15x
    unrolled_contraction=4,          # batched 4x4: 9x to 400x, 8x8: 1.2x, 16x16: 0.6x
    unrolled_free=4,                 # (262144, 3) (3, 3): 10x to 100x; (3, 3) (3, 262144): 1.0x to 1.8x
    window_as_slices=9,              # sums 3: 3.4x, 7: 4.7x; maxima 3: 6x, 5: 30x, 7: 22x (512x512 f64)
    convolution_as_slices=49,        # 3x3: 1.4x (f64) and 200x (f32), 7x7: 1.1x and 48x
    doubled_operations=400,          # u, before = step(u, before), u on 512x512: 2.3x, a, b = b + a / 2, a: 3.7x
)
"""AMD EPYC (AVX-512), jaxlib 0.10.2, one core."""

BY_PLATFORM = {"cpu": CPU}


def shipped() -> Costs | None:
    """The defaults of jax's default platform; None where nobody has measured them."""
    import jax
    return BY_PLATFORM.get(jax.default_backend())


def device_name() -> str:
    """Platform and kind of jax's default device."""
    import jax
    device = jax.devices()[0]
    return f"{device.platform} {device.device_kind}"


def stored_at() -> Path:
    """Where `reactant calibrate` stores what it measures for this device and jaxlib."""
    import jaxlib
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reactant"
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{device_name()} {platform.machine()} jaxlib {jaxlib.__version__}")
    return folder / f"calibration-{name}.json"


@cache
def costs() -> Costs | None:
    """The costs of jax's default platform: the shipped ones, with those measured on this machine in their place (not
    with REACTANT_CALIBRATION=off in the environment). None where there are none."""
    found = shipped()
    if found is None or os.environ.get("REACTANT_CALIBRATION") == "off":
        return found
    try:
        measured = json.loads(stored_at().read_text())
        known = {f.name for f in fields(Costs)}
        return replace(found, **{name: value for name, value in measured.items() if name in known})
    except (OSError, ValueError, AttributeError):
        return found
