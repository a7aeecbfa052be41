"""A region of StableHLO as plain Python objects: hashable, safe to keep, quick to walk."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.induction import trips
from reactant.ir.types import shape_and_dtype, size
from reactant.native import clocks
from reactant.rewrite.report import source_line
from reactant.support.records import dataclass

Shape = tuple[int, ...]
FEW, LONG = 16, 64
"""Rows of the small factor of a product at most, and extents of the big one at least, for which that is read once."""


class Node:
    """One value. `kind` is the op's name without its dialect; results of ops with several are `result` nodes whose
    only operand is the op's own node."""

    __slots__ = ("attributes", "block", "blocks", "dtype", "index", "iterations", "kind", "line", "operands", "results",
                 "shape", "users", "value")

    def __init__(self, kind: str, operands: Sequence[Node] = (), shape: Shape = (), dtype: np.dtype | None = None,
                 attributes: dict[str, Any] | None = None, index: int = 0):
        self.kind, self.operands, self.shape = kind, tuple(operands), shape
        self.dtype = np.dtype(bool) if dtype is None else dtype
        self.attributes = attributes or {}
        self.index = index
        self.blocks: list[Block] = []
        self.results: list[Node] = []
        self.users: list[Node] = []
        self.block: Block | None = None
        self.value: np.ndarray | None = None
        self.line = ""
        """Of the user's program, where somebody measures;"""
        self.iterations: int | None = None
        """then also those of a loop, where they are known."""

    @property
    def size(self) -> int:
        """Number of elements."""
        return size(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the dense array."""
        return self.size * self.dtype.itemsize

    @property
    def splat(self) -> Any:
        """The one number of a uniform constant, else None."""
        value = self.value
        if value is None or not value.size or value.size > 1 and any(value.strides):
            return None
        return value[(0,) * value.ndim]

    @property
    def is_read(self) -> bool:
        """Whether an op takes the value or a block gives it on."""
        return bool(self.users) or self.block is not None and self in self.block.returned

    @property
    def unset(self) -> bool:
        """Whether no element is read before it has been written."""
        return self.kind == "constant" and modules.UNSET in self.attributes

    def __repr__(self) -> str:
        return f"<{self.kind} {self.dtype}{list(self.shape)}>"


@dataclass(eq=False)
class Block:
    """A region's only block: arguments, ops in order, and what it returns. `owner` is the op that holds it."""

    arguments: list[Node] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    returned: list[Node] = field(default_factory=list)
    owner: Node | None = None

    def walk(self) -> Iterator[Node]:
        """Every op inside, at any depth."""
        for node in self.nodes:
            yield node
            for inner in node.blocks:
                yield from inner.walk()

    def uses(self) -> Iterator[Node]:
        """What ops take and regions give, at any depth."""
        yield from self.returned
        for node in self.nodes:
            yield from node.operands
            for inner in node.blocks:
                yield from inner.uses()

    def inside(self, other: Block) -> bool:
        """Whether this block is `other` or nested in it."""
        block: Block | None = self
        while block is not None:
            if block is other:
                return True
            block = None if block.owner is None else block.owner.block
        return False


def origin(found: Node, block: Block) -> Node | None:
    """The array from outside of a block that a value in it is once updates, loops and branches have changed it."""
    while found.block is not None and found.block.inside(block):
        owner = found.operands[0] if found.kind == "result" else found
        if owner.kind in ("dynamic_update_slice", "scatter"):
            found = owner.operands[0]
        elif owner.kind == "while":
            found = owner.operands[found.index]
        elif owner.kind in ("if", "case"):
            origins = {origin(each.returned[found.index], block) for each in owner.blocks}
            return origins.pop() if len(origins) == 1 else None
        else:
            return None
    return found


def behind(values: Iterable[Node], enters: Callable[[Node], bool],
           inputs: Callable[[Node], Iterable[Node]] = lambda node: node.operands) -> Iterator[Node]:
    """Values and what they are computed from, each once; `enters`: whether to go on to the inputs of one."""
    stack, seen = list(values), set()
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            if enters(node):
                stack += inputs(node)


def take_apart(block: Block) -> None:
    """Undo what refers to one another in a block that is done with: as cycles it would wait for the collector."""
    for node in list(block.walk()):
        for inner in node.blocks:
            for argument in inner.arguments:
                argument.block, argument.users = None, []
            inner.nodes, inner.returned, inner.owner = [], [], None
        for each in (node, *node.results, *node.operands):
            each.block, each.users = None, []
        node.operands, node.blocks, node.results = (), [], []
    block.nodes, block.returned = [], []


def read_block(block: ir.Block, known: dict[ir.Value, Node], owner: Node | None = None,
               only: Sequence[ir.Operation] | None = None) -> Block:
    """Read a block (or some of its ops, in order); `known` maps values from outside and learns those inside."""
    made = Block(owner=owner)
    if only is None:
        for argument in block.arguments:
            shape, dtype = shape_and_dtype(argument.type)
            node = Node("argument", (), tuple(shape), dtype)
            node.block = made
            made.arguments.append(node)
            known[argument] = node
    for op in block.operations if only is None else only:
        operation = op.operation
        if operation.name in ("stablehlo.return", "func.return"):
            made.returned = [known[v] for v in operation.operands]
            for value in made.returned:
                if owner is not None and value.block is not made:
                    value.users.append(owner)
        else:
            read_operation(operation, known, made)
    return made


def read_operation(op: ir.Operation, known: dict[ir.Value, Node], into: Block) -> Node:
    """Read one op with its regions."""
    if op.name == "stablehlo.dot_general":
        before = len(into.nodes)
        known[op.results[0]] = made = product(op, known, into)
        if clocks.recording():
            for each in into.nodes[before:]:
                each.line = source_line(op.location)
        return made
    names = [a for a in op.attributes if op.name != "stablehlo.constant" or a == modules.UNSET]
    node = Node(op.name.removeprefix("stablehlo."), [known[v] for v in op.operands],
                attributes={a: op.attributes[a] for a in names})
    node.block = into
    into.nodes.append(node)
    if clocks.recording():
        node.line = source_line(op.location)
        count = trips(op) if node.kind == "while" else None
        node.iterations = count.most if count is not None and count.exact else None
    if node.kind == "constant":
        node.value = ops.constant_value(op.results[0])
    for operand in node.operands:
        operand.users.append(node)
    for region in op.regions:
        node.blocks.append(read_block(region.blocks[0], known, node))
    results = list(op.results)
    if len(results) == 1 and node.kind not in ("while", "if", "case", "sort"):
        shape, dtype = shape_and_dtype(results[0].type)
        node.shape, node.dtype = tuple(shape), dtype
        node.results = [node]
        known[results[0]] = node
        return node
    for number, value in enumerate(results):
        shape, dtype = shape_and_dtype(value.type)
        result = Node("result", (node,), tuple(shape), dtype, index=number)
        result.block = into
        node.results.append(result)
        known[value] = result
    return node


def added(into: Block, kind: str, operands: Sequence[Node], shape: Shape, dtype: np.dtype, **attributes: Any) -> Node:
    """A node of our own at the end of a block."""
    node = Node(kind, operands, shape, dtype, attributes)
    node.block = into
    node.results = [node]
    into.nodes.append(node)
    for operand in node.operands:
        operand.users.append(node)
    return node


LONGEST_SUM, LEAST_ROWS, IN_REGISTERS = 48, 8, 512
"""Terms of a sum to which a @ b.T is slower than a @ b (ns a product of 20 x K by K x K, float32: K = 16 0.33 and 0.07,
32 0.07 and 0.04, 64 alike), the rows from which b is turned for that, and the bytes of b to which LLVM keeps all of it
at hand (100 x 8 by 8 x J, float64: J = 8 0.9 us and 1.1 turned, 16 3.9 and 2.1, 64 15 and 4.1)."""


def big_factor(shapes: Sequence[Shape], contracted: Sequence[Shape], batch: Sequence[Shape]) -> int | None:
    """Which factor of a product, a matrix with few rows or columns, or some vectors, times a big matrix, is big. It is
    read once, as it lies in memory: element by element along its last dimension."""
    if any(batch) or any(len(s) != 2 for s in shapes) or any(len(c) != 1 for c in contracted):
        return None
    length = shapes[0][contracted[0][0]]
    own = [size(s) // max(length, 1) for s in shapes]
    return own.index(max(own)) if 1 < min(own) <= FEW and length >= LONG and max(own) >= LONG else None


def _columns_apart(factors: Sequence[Node], batch: Sequence[Shape], contracted: Sequence[Shape],
                   into: Block) -> tuple[Node, Sequence[Shape], list[Shape]]:
    """The right factor of a product of short rows by rows, a @ b.T, turned, since sums that are short are no vectors,
    with the dimensions of both."""
    left, right = factors
    last = len(right.shape) - 1
    own = [d for d in range(len(right.shape)) if d not in (*batch[1], *contracted[1])]
    depth = size([right.shape[d] for d in contracted[1]])
    rows = left.size // max(size([left.shape[d] for d in (*batch[0], *contracted[0])]), 1)
    if last not in contracted[1] or not own or right.shape[own[-1]] < LEAST_ROWS \
            or depth > LONGEST_SUM or rows < LEAST_ROWS or right.nbytes <= IN_REGISTERS:
        return right, batch, list(contracted)
    order = (*(d for d in range(last + 1) if d != own[-1]), own[-1])
    block, position = into, len(into.nodes)
    # not in each iteration
    while block is not right.block and block.owner is not None and block.owner.block is not None:
        position = block.owner.block.nodes.index(block.owner)
        block = block.owner.block
    turned = added(block, "transpose", [right], tuple(right.shape[d] for d in order), right.dtype, permutation=order,
                   kept=True)
    block.nodes.insert(position, block.nodes.pop())
    return turned, (batch[0], tuple(map(order.index, batch[1]))), \
        [contracted[0], tuple(map(order.index, contracted[1]))]


def product(op: ir.Operation, known: dict[ir.Value, Node], into: Block) -> Node:
    """A dot_general as the sum of products over a common range of indices, the one that is walked fastest last."""
    numbers = attr.decode(op.attributes["dot_dimension_numbers"])
    factors = [known[v] for v in op.operands]
    shape, dtype = shape_and_dtype(op.results[0].type)
    batch, contracted = numbers.batching_dims, list(numbers.contracting_dims)
    big = big_factor([f.shape for f in factors], contracted, batch)
    if big is not None and contracted[big] == (1,) and contracted[1 - big] == (0,):
        small = factors[1 - big]
        factors[1 - big] = added(into, "transpose", [small], small.shape[::-1], small.dtype, permutation=(1, 0),
                                 kept=True)
        contracted[1 - big] = (1,)
    elif big is None:
        factors[1], batch, contracted = _columns_apart(factors, batch, contracted, into)
    free = [[d for d in range(len(f.shape)) if d not in (*batch[k], *contracted[k])] for k, f in enumerate(factors)]
    # every index of the range: its dimension in each factor, None where it has none
    batches, sums = list(zip(*batch, strict=True)), list(zip(*contracted, strict=True))
    left, right = [(d, None) for d in free[0]], [(None, d) for d in free[1]]
    order = [*batches, *left, *right, *sums]
    if not order or not sums:
        last = None
    else:
        last = min(reversed(order), key=lambda index: sum(
            d is not None and d != len(f.shape) - 1 for d, f in zip(index, factors, strict=True)))
    walked = order if last is None or last in sums or last in batches else \
        [*batches, *(i for i in [*left, *right] if i != last), *sums, last]
    if big is not None:
        own, few = [*left, *right][::1 if big == 0 else -1]
        walked = [own, few, *sums] if contracted[big] == (1,) else [*sums, few, own]
    extents = tuple(next(f.shape[d] for d, f in zip(index, factors, strict=True) if d is not None) for index in walked)
    spread = []
    for k, factor in enumerate(factors):
        if factor.dtype != dtype:
            factor = added(into, "convert", [factor], factor.shape, dtype)
        places = {index[k]: at for at, index in enumerate(walked) if index[k] is not None}
        spread.append(added(into, "broadcast_in_dim", [factor], extents, dtype,
                            broadcast_dimensions=tuple(places[d] for d in range(len(factor.shape)))))
    made = added(into, "multiply", spread, extents, dtype)
    if sums:
        made = _summed(made, tuple(at for at, index in enumerate(walked) if index in sums), dtype, into)
    kept = [index for index in walked if index not in sums]
    target = [*batches, *left, *right]
    if kept != target:
        made = added(into, "transpose", [made], tuple(shape), dtype, permutation=tuple(kept.index(i) for i in target))
    return made


def _summed(node: Node, dimensions: tuple[int, ...], dtype: np.dtype, into: Block) -> Node:
    """The sum over dimensions."""
    zero = added(into, "constant", (), (), dtype)
    zero.value = np.zeros((), dtype)
    made = added(into, "reduce", [node, zero], tuple(n for d, n in enumerate(node.shape) if d not in dimensions), dtype,
                 dimensions=dimensions)
    made.blocks.append(combining(made, "or" if dtype.kind == "b" else "add", dtype))
    return made


def combining(owner: Node, kind: str, dtype: np.dtype) -> Block:
    """The region of a reduction by one op."""
    body = Block(owner=owner)
    for _ in range(2):
        argument = Node("argument", (), (), dtype)
        argument.block = body
        body.arguments.append(argument)
    body.returned = [added(body, kind, body.arguments, (), dtype)]
    return body


def decoded(node: Node, name: str, default: Any = None) -> Any:
    """An attribute as a Python value."""
    found = node.attributes.get(name)
    if found is None:
        return default
    return attr.decode(found) if isinstance(found, ir.Attribute) else found
