"""`reactant.kernel(k, tune=True)`: launches measured in several ways, of which the fastest is remembered.

The first launch with arguments of some types and sizes runs on copies of them: as it would be without tuning, as a
tensor program, as native code, and as native code whose threads do the work of several threads or blocks
(`cuda_programs.device.coarse_records`). A way that computes other bits than the first one is not taken.
"""
from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reactant.cache import environment, store
from reactant.cuda_programs.device.coarse_records import Coarse
from reactant.cuda_programs.device.versions import OTHERS, Factors, NotAnother
from reactant.errors import ReactantError
from reactant.kernels.form.record import KernelRecord
from reactant.kernels.launch.launch import Launch
from reactant.runtime.devices import lowered_for
from reactant.support import folders

OWN = "own"
COARSE = ("threads2x", "threads2y", "threads4x", "blocks2x", "blocks2y", "blocks4x")
ROUNDS, LONG = 7, 0.5
"""Measured launches of each way, and seconds after which fewer are enough."""
BETTER = 0.95
"""Of the time without tuning: what a way has to reach to be taken."""

SIZES = {"i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4}
_SHARED = re.compile(r"^@[^\n]*addrspace\(3\) global \[(\d+) x (\w+)\]", re.MULTILINE)

Run = Callable[[Launch, tuple], Any]
"""Launches on memories."""


LEAST_ROW = {"cpu": 8, "cuda": 32}
"""Threads of a row that are left: a vector, a warp."""
MOST_SHARED = {"cpu": 128 << 10, "cuda": 48 << 10}
"""Bytes of shared memory of blocks that become one: a part of a second-level cache; what a GPU gives without
being asked, with which several blocks are on a multiprocessor at a time."""
PROCESSORS = 100
"""Of large GPUs: fewer blocks leave some of them idle."""


def sensible(record: KernelRecord, factors: Factors, place: str) -> bool:
    """Whether there is any use in coarsening a launch: rows of vectors or warps, work for all processors, shared memory
    that stays in a cache or on the chip."""
    row = record.block[0] // factors.threads[0]
    shared = sum(int(n) * SIZES.get(kind, 8) for n, kind in _SHARED.findall(record.llvm)) * factors.of_blocks
    processors = environment.cores() if place == "cpu" else PROCESSORS
    return (factors.threads[0] == 1 or row >= LEAST_ROW[place]) and (factors.of_blocks == 1 or (
        shared <= MOST_SHARED[place] and math.prod(record.grid) // factors.of_blocks >= processors))


def ways(how: Launch) -> dict[str, Launch]:
    """What is tried for a launch, by labels."""
    plain = dataclasses.replace(how, tune=False)
    found = {OWN: plain}
    if how.lower == "auto":
        found |= {lower: dataclasses.replace(plain, lower=lower) for lower in ("tensor", "native")}
    return found | {label: dataclasses.replace(plain, lower="native", rewrite=Coarse(OTHERS[label].factors))
                    for label in COARSE}


def chosen(how: Launch, record: KernelRecord, roots: Sequence[Any], run: Run) -> Launch:
    """The fastest way, remembered or measured.

    Args:
        how: the launch, to be tuned.
        record: it without tuning.
        roots: its memories, which are copied.
        run: launches it in some way on memories.
    """
    place = "cuda" if lowered_for() == "cuda" else "cpu"
    tried = {label: way for label, way in ways(how).items()
             if way.rewrite is None or sensible(record, OTHERS[label].factors, place)}
    file = _file(how, record)
    label = _remembered(file)
    if label not in tried:
        label = _measured(tried, roots, run)
        _remember(file, label)
    return tried[label]


def _measured(tried: dict[str, Launch], roots: Sequence[Any], run: Run) -> str:
    """The fastest of the ways that compute what the first one does."""
    expected: list[bytes] = []
    good: dict[str, list[float]] = {}
    for label, how in tried.items():
        try:
            found = _contents(run, how, roots)
        except (NotAnother, ReactantError):
            if label == OWN:
                raise
            continue
        if label == OWN:
            expected = found
        if found == expected:
            good[label] = []
    begun = time.perf_counter()
    for _ in range(ROUNDS):
        for label, times in good.items():
            given = _copies(roots)
            start = time.perf_counter()
            run(tried[label], given)
            _finished(given)
            times.append(time.perf_counter() - start)
        if time.perf_counter() - begun > LONG and len(good[OWN]) > 2:
            break
    best = min(good, key=lambda label: min(good[label]))
    wins = sum(one < other for one, other in zip(good[best], good[OWN], strict=True))
    return best if min(good[best]) < BETTER * min(good[OWN]) and 3 * wins >= 2 * len(good[OWN]) else OWN


def _copies(roots: Sequence[Any]) -> tuple:
    return tuple(root.copy() for root in roots)


def _finished(roots: Sequence[Any]) -> None:
    """Wait for what devices still compute."""
    for root in roots:
        if not isinstance(root, np.ndarray):
            np.asarray(root)


def _contents(run: Run, how: Launch, roots: Sequence[Any]) -> list[bytes]:
    given = _copies(roots)
    run(how, given)
    return [np.asarray(root).tobytes() for root in given]


# ---- what is remembered ----------------------------------------------------------------------------------------

def _file(how: Launch, record: KernelRecord) -> Path | None:
    """Where a choice is kept: in the compile cache, by the kernel, the signature and the device."""
    folder = store.usable(make=True)
    if folder is None:
        return None
    code = re.sub(r", !(?:dbg|tbaa) !\d+", "", record.llvm.partition("\n!")[0])
    told = (code, record.parameters, record.grid, record.block, how.lower, lowered_for(), environment.machine(),
            os.environ.get("XLA_FLAGS", ""), environment.cores(), BETTER, COARSE)
    return folder / "granularity" / f"{hashlib.sha256(repr(told).encode()).hexdigest()[:40]}.json"


def _remembered(file: Path | None) -> str:
    try:
        return str(json.loads(file.read_text())["way"]) if file is not None else ""
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _remember(file: Path | None, label: str) -> None:
    """A folder that cannot be written to is as one that is not there."""
    if file is not None:
        try:
            file.parent.mkdir(mode=0o700, exist_ok=True)
            folders.put(file, json.dumps({"way": label}).encode())
        except OSError:
            pass
