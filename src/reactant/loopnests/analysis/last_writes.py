"""Scatters from which all writes but the last to an element have been taken out: StableHLO promises no order, our loops
do, so that the last one wins by itself.
"""
from __future__ import annotations

from reactant.loopnests.analysis.graph import Block, Node, decoded
from reactant.loopnests.analysis.monoids import monoid


def without_last_writes(block: Block) -> None:
    """Let such scatters of a block, and of the blocks inside, write in order; what was to find the last is dropped."""
    for node in list(block.nodes):
        for inner in node.blocks:
            without_last_writes(inner)
        if node.kind == "scatter" and node.block is block and len(node.operands) == 3 \
                and node.blocks[0].returned[0] is node.blocks[0].arguments[1]:
            choice = node.operands[1]
            every = _every(_bare(choice))
            if every is not None:
                node.operands = (node.operands[0], every, node.operands[2])
                every.users.append(node)
                choice.users.remove(node)
                drop(choice)
        if node.kind == "select" and node.block is block and (found := _written(node)) is not None:
            _scatter(node, *found)


def _written(node: Node) -> tuple[Node, Node] | None:
    """(the scatter of numbers, the updates) where each element is what the last update to it says, if there is one:
    how many updates to few elements are written, each update fetched by its number."""
    test, fetched, before = node.operands
    if test.kind != "compare" or decoded(test, "comparison_direction") != "GE" or test.operands[1].splat != 0:
        return None
    greatest, fetched = _bare(test.operands[0]), _bare(fetched)
    if fetched.kind != "gather" or greatest.shape != before.shape or test.shape != before.shape \
            or greatest.kind != "scatter" or len(greatest.operands) != 3:
        return None
    updates, place = fetched.operands[0], _bare(fetched.operands[1])
    numbers = _bare(greatest.operands[2])
    if place.kind != "maximum" or place.operands[1].splat != 0 or _bare(place.operands[0]) is not greatest \
            or numbers.kind != "iota" or greatest.operands[2].shape != updates.shape or len(updates.shape) != 1 \
            or fetched.size != before.size or not _is_last(greatest, greatest.operands[1], numbers) \
            or tuple(decoded(fetched, "slice_sizes")) != (1,):
        return None
    return greatest, updates


def _scatter(node: Node, greatest: Node, updates: Node) -> None:
    """Let a choice write the updates in order."""
    before, old = node.operands[2], node.operands[:2]
    for operand in node.operands:
        operand.users.remove(node)
    node.kind, node.attributes = "scatter", dict(greatest.attributes)
    node.operands = (before, greatest.operands[1], updates)
    body = Block(owner=node)
    for _ in range(2):
        argument = Node("argument", (), (), node.dtype)
        argument.block = body
        body.arguments.append(argument)
    body.returned, node.blocks = [body.arguments[1]], [body]
    for operand in node.operands:
        operand.users.append(node)
    for each in old:
        drop(each)


def _bare(node: Node) -> Node:
    """What is reshaped, or repeated along new dimensions."""
    while node.kind in ("reshape", "broadcast_in_dim") and (node.kind == "reshape" or node.operands[0].size > 1):
        node = node.operands[0]
    return node


def _every(choice: Node) -> Node | None:
    """All the index vectors of which the last to each element are chosen: those whose number is the greatest that a
    scatter by "maximum" has put there."""
    if choice.kind != "select" or choice.operands[2].splat is None:
        return None
    test, every, _ = choice.operands
    test = _bare(test)
    if test.kind != "compare" or decoded(test, "comparison_direction") != "EQ" or every.shape != choice.shape:
        return None
    for found, order in (test.operands, test.operands[::-1]):
        found, order = _bare(found), _bare(order)
        if found.kind == "gather" and order.kind == "iota" and order.shape == (order.size,) \
                and _is_last(found.operands[0], every, order) and _bare(found.operands[1]) is _bare(every):
            return every
    return None


def _is_last(greatest: Node, every: Node, order: Node) -> bool:
    """Whether an array tells the number of the last index vector that names each element."""
    if greatest.kind != "scatter" or monoid(greatest) != "maximum":
        return False
    start, indices, numbers = greatest.operands
    return start.splat is not None and start.splat < 0 and _bare(numbers) is order and _bare(indices) is _bare(every)


def drop(node: Node) -> None:
    """Take a value that nobody reads any more out of its block, and what only it was made of."""
    if node.block is None or node.is_read or node.kind == "argument" or node not in node.block.nodes:
        return
    node.block.nodes.remove(node)
    for operand in dict.fromkeys(node.operands):
        while node in operand.users:
            operand.users.remove(node)
        drop(operand)
