"""Modules as native code, run on NumPy arrays without XLA in between."""
from __future__ import annotations

import numpy as np

from reactant import native
from reactant.ir import modules
from reactant.ir.context import building
from reactant.loopnests.analysis.graph import read_block
from reactant.loopnests.emission.supported import compiles
from reactant.loopnests.function import Written, write_function


def all_compiles(module):
    """Whether every op of a module's main has a form as loops."""
    with building():
        block = modules.function(module).regions[0].blocks[0]
        return all(compiles(op.operation) for op in list(block.operations)[:-1])


def written(module) -> Written:
    """The native function of a whole module."""
    with building():
        block = read_block(modules.function(module).regions[0].blocks[0], {})
        return write_function(block, block.arguments, block.returned)


def run(module, arguments):
    """The results of a module's main, computed by native code."""
    with building():
        block = read_block(modules.function(module).regions[0].blocks[0], {})
        made = write_function(block, block.arguments, block.returned)
        roles = ["in"] * len(made.inputs) + ["out"] * (len(made.outputs) + len(made.workspace))
        function = native.compile(modules.parse(made.text), roles=roles)
    given = dict(zip(block.arguments, arguments, strict=True))
    inputs = [np.ascontiguousarray(n.value if n.kind == "constant" else given[n]) for n in made.inputs]
    outputs = [np.empty(n.shape, n.dtype) for n in made.outputs]
    workspace = [np.empty(b.size, b.dtype) for b in made.workspace]
    function(*(_plain(a) for a in [*inputs, *outputs, *workspace]))
    return outputs


def _plain(array):
    """An array as native code takes it: flat, signless, complex numbers as two floats, booleans as bytes."""
    flat = array.reshape(-1)
    if array.dtype.kind == "c":
        return flat.view(f"f{array.dtype.itemsize // 2}")
    if array.dtype.kind in "bu":
        return flat.view(f"i{array.dtype.itemsize}")
    return flat
