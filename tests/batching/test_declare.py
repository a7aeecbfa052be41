"""Which ops have a batched form: all that we build, but for those that the engine itself or a loop takes care of."""
import re
from pathlib import Path

import reactant
import reactant.batching.engine  # noqa: F401 - declares the rules
from reactant.batching.analysis import BARRIER, BRANCHES, LOOP
from reactant.batching.declare import RULES
from reactant.ir import ops

WITHOUT = {LOOP, *BRANCHES, BARRIER,                               # the engine rebuilds them
           "stablehlo.constant", "stablehlo.iota", "stablehlo.return",     # they depend on nothing
           "stablehlo.rng", "stablehlo.rng_bit_generator",         # one element after the other: each its own numbers
           "stablehlo.partition_id",                               # in what has been divided, which nobody batches
           "stablehlo.custom_call"}                                # by target; others one after the other


def built():
    """Names of ops that stand in a call of a builder anywhere in the package."""
    found = set(ops.ELEMENTWISE)
    for path in Path(reactant.__file__).parent.rglob("*.py"):
        found |= set(re.findall(r"create\(\s*\"((?:stablehlo|chlo)\.\w+)\"", path.read_text()))
    return found


def test_every_op_we_build_has_a_batched_form():
    names = built()
    assert {"stablehlo.gather", "stablehlo.sort", "stablehlo.convolution"} <= names
    assert sorted(names - set(RULES) - WITHOUT) == []
