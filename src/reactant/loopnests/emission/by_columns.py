"""Routines of LAPACK that loops call: which ops they are, and the graph of a block with their matrices by columns.

LAPACK's matrices lie by columns, ours by rows. A call takes and gives the transposes of what its op does, with ops
around it that turn them: these are computed like all others, together with what reads or makes the elements, and cancel
between two calls.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.loopnests.analysis.graph import Block, Node, added, decoded
from reactant.loopnests.emission.factorizations import fits
from reactant.native import bounds, ffi, lapack

TARGET = "call_target_name"
CALLED = "called"
"""Attribute of an op that is a call of the library,"""
TURNED = "turned"
"""and of a triangular solve whose triangle lies by columns."""
OPERANDS = {"trsm": ("A", "B"), "orgqr": ("A", "TAU"), "ungqr": ("A", "TAU")}
"""The memories that operands are; of others there is one, `A`."""
RESULTS = {"getrf": ("A", "PIVOTS", "INFO"), "potrf": ("A", "INFO"), "trsm": ("B",), "geqrf": ("A", "TAU"),
           "orgqr": ("A",), "ungqr": ("A",), "syevd": ("A", "W", "INFO"), "heevd": ("A", "W", "INFO"),
           "gesdd": ("A", "S", "U", "VT", "INFO")}
"""The memories that results are."""
MATRICES = ("A", "B", "U", "VT")


def routine_of(target: str) -> str | None:
    """`dgetrf` of `lapack_dgetrf_ffi`, if that can be called."""
    routine = target.removeprefix("lapack_").removesuffix("_ffi")
    return routine if target == f"lapack_{routine}_ffi" and routine in lapack.PARAMETERS else None


def possible(op: ir.Operation) -> bool:
    """Whether a custom call can be a call of the library. Where memory is checked it stays XLA's, where each buffer of
    LAPACK's lies between red zones."""
    routine = routine_of(attr.decode(op.attributes[TARGET]))
    return routine is not None and "mhlo.backend_config" in op.attributes \
        and len(op.operands) == len(operands_of(routine)) and len(op.results) == len(RESULTS[routine[1:]]) \
        and ffi.usable() and bool(lapack.library()) and not bounds.wanted()


def operands_of(routine: str) -> Sequence[str]:
    """The memories that the operands of a routine are."""
    return OPERANDS.get(routine[1:], ("A",))


def letter(node: Node, name: str) -> str:
    """A setting of LAPACK's."""
    config = {each.name: each.attr for each in ir.DictAttr(node.attributes["mhlo.backend_config"])}
    return chr(ir.IntegerAttr(config[name]).value & 255)


def by_columns(block: Block, outputs: Iterable[Node]) -> dict[Node, Node]:
    """Iteration the matrices of the calls in a block, and in blocks inside; what `outputs` of the block have become."""
    found: dict[Node, Node] = {}
    for node in list(block.nodes):
        for inner in node.blocks:
            by_columns(inner, ())
        if node.kind == "custom_call" and not fits(node):
            found |= _rewrite(node, block, {*outputs, *block.returned})
    return found


def _rewrite(node: Node, block: Block, given: set[Node]) -> dict[Node, Node]:
    routine = routine_of(decoded(node, TARGET))
    assert routine is not None
    node.attributes[CALLED] = routine
    place = block.nodes.index(node)
    behind, block.nodes[place:] = block.nodes[place:], []
    for number, memory in enumerate(operands_of(routine)):
        if memory in MATRICES:
            _iteration_operand(node, number, block)
    block.nodes.append(behind.pop(0))
    found = {}
    for result, memory in zip(node.results, RESULTS[routine[1:]], strict=True):
        if memory in MATRICES and (result.users or result in given):
            found[result] = _iteration_result(result, block)
    block.returned = [found.get(each, each) for each in block.returned]
    block.nodes += behind
    return found


def _iteration_operand(node: Node, number: int, block: Block) -> None:
    operand = node.operands[number]
    turned = operand.kind == "transpose" and tuple(decoded(operand, "permutation")) == _order(operand)
    if decoded(node, TARGET).endswith("trsm_ffi") and not number:
        if not turned and letter(node, "trans_x") != "C":       # rows of a triangle are columns of the other one
            return
        node.attributes[TURNED] = True
    source = operand.operands[0] if turned else _transposed(operand, block)
    operand.users.remove(node)
    source.users.append(node)
    node.operands = (*node.operands[:number], source, *node.operands[number + 1:])


def _iteration_result(result: Node, block: Block) -> Node:
    """The op that transposes a result, which all read that have read it."""
    users, result.users = result.users, []
    result.shape = (*result.shape[:-2], *result.shape[:-3:-1])
    made = _transposed(result, block)
    made.users = users
    for user in users:
        user.operands = tuple(made if o is result else o for o in user.operands)
        for inner in user.blocks:
            inner.returned = [made if each is result else each for each in inner.returned]
    return made


def _transposed(node: Node, block: Block) -> Node:
    shape = (*node.shape[:-2], *node.shape[:-3:-1])
    return added(block, "transpose", [node], shape, node.dtype, permutation=_order(node))


def _order(node: Node) -> tuple[int, ...]:
    rank = len(node.shape)
    return (*range(rank - 2), rank - 1, rank - 2)
