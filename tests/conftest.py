"""Tests use the shipped thresholds, whatever `reactant calibrate` has stored on this machine, and no compile cache."""
import gc
import os
import zlib
from collections import Counter
from pathlib import Path

import jax
import pytest
from jaxlib.mlir import ir

from reactant.native import bounds
from tests import amounts, devices8

os.environ["REACTANT_CALIBRATION"] = "off"
os.environ["REACTANT_CACHE"] = "off"

MAPS = Path("/proc/self/maps")
MOST_MAPS = 20_000
"""Linux gives a process 65,530; every program has several, and JAX, which the tests compare with, keeps all of its."""


MOST = 32
"""Of a table without a mark of its own the first row and, in about every second one, another are run; of longer tables
one in so many."""


def pytest_addoption(parser):
    parser.addoption("--part", metavar="K/N", help="of the tests that are chosen every N-th, from the K-th on: the "
                     "slow ones together take many hours")


def pytest_configure(config):
    amounts.SLOW_TOO = config.option.markexpr in ("", "slow or not slow")
    if (plugin := devices8.plugin()) is not None:
        config.pluginmanager.register(plugin)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    sample(items)
    if bounds.wanted():
        for item in items:
            if item.get_closest_marker("machine_code"):
                item.add_marker(pytest.mark.skip(reason="native code is checked here"))
    yield                       # -m and -k
    if part := config.getoption("--part"):
        first, every = map(int, part.split("/"))
        if not 1 <= first <= every:
            raise pytest.UsageError(f"--part={part}: K/N with K from 1 to N")
        config.hook.pytest_deselected(items=[item for k, item in enumerate(items) if k % every != first - 1])
        items[:] = items[first - 1::every]


def sample(items):
    """Of what is `sampled(n)`, the first row and about every n-th are run each time; the others are slow. Which ones
    depends on their names alone: in products of tables, one that is fixed would meet but some of the others."""
    tables = [item.nodeid.partition("[")[0] for item in items]
    rows, met = Counter(tables), set()
    for item, table in zip(items, tables, strict=True):
        if item.get_closest_marker("slow"):
            continue
        mark = item.get_closest_marker("sampled")
        every = mark.args[0] if mark else min(MOST, 2 * rows[table])
        if table in met and zlib.crc32(item.name.encode()) % every and not item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.slow)
        met.add(table)


def erase_unused(op, erase=ir.Operation.erase):
    """MLIR frees what is erased whether or not something still uses it: the heap is damaged, the process ends later."""
    for each in values_of(op.operation):
        for use in each.uses:
            user = use.owner.operation
            while user is not None and user != op.operation:
                user = user.parent and user.parent.operation
            if user is None or each in op.operation.results:
                raise AssertionError(f"{op.name} is erased, and {use.owner.name} (at {use.owner.location}) still uses "
                                     f"{each}")
    erase(op)


def erase_unused_argument(block, number, erase=ir.Block.erase_argument):
    """The same of a block's arguments."""
    for use in block.arguments[number].uses:
        raise AssertionError(f"An argument is erased, and {use.owner.name} (at {use.owner.location}) still uses it")
    erase(block, number)


def values_of(op):
    """All values that go with an op."""
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments
            for each in block.operations:
                yield from values_of(each.operation)


ir.Operation.__mro__[1].erase, ir.Block.erase_argument = erase_unused, erase_unused_argument


@pytest.fixture(autouse=True, scope="module")
def forgetting_programs():
    """Worker processes live as long as the whole suite."""
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def x64(request):
    """JAX as its users have it, and with 64-bit numbers."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield request.param
    jax.config.update("jax_enable_x64", before)
