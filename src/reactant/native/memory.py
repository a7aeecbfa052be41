"""`memref`: loads and stores, local arrays, views, atomics, constants in memory."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes
from reactant.native import bounds, layout, roots, widths
from reactant.native.arithmetic import extreme_number, narrowed, widened
from reactant.native.emission import Function, emits, quoted
from reactant.native.refusals import refused


def product(f: Function, a: str, b: str) -> str:
    """a * b of `index` numbers, folded where both are known."""
    if "1" in (a, b):
        return b if a == "1" else a
    if "0" in (a, b):
        return "0"
    if a[0] != "%" and b[0] != "%":
        return str(int(a) * int(b))
    return f.let(f"mul nsw i64 {a}, {b}")


def total(f: Function, a: str, b: str) -> str:
    """a + b of `index` numbers, folded where both are known."""
    if "0" in (a, b):
        return b if a == "0" else a
    if a[0] != "%" and b[0] != "%":
        return str(int(a) + int(b))
    return f.let(f"add nsw i64 {a}, {b}")


def offset_of(f: Function, place: layout.Memory, indices: Sequence[str]) -> str:
    """Elements from the pointer to an element."""
    offset = "0"
    for index, stride in zip(indices, place.strides, strict=True):
        offset = total(f, offset, product(f, index, stride))
    return offset


def address(f: Function, place: layout.Memory, offset: str) -> str:
    """The address of the element `offset` elements after the pointer."""
    kind = layout.in_memory(place.layout.number)
    if place.layout.is_complex:
        kind = f"{{ {kind}, {kind} }}"
    if offset == "0":
        return place.pointer
    within = "" if bounds.active() else " inbounds"
    made = f.let(f"getelementptr{within} {kind}, ptr {place.pointer}, i64 {offset}")
    if place.pointer in f.roots:
        f.roots[made] = f.roots[place.pointer]
    if place.pointer in f.private:
        f.private.add(made)
    return made


def element(f: Function, place: layout.Memory, offset: str, op: ir.Operation) -> str:
    """The address of an element that `op` reads or writes."""
    width = layout.nbytes(layout.in_memory(place.layout.number)) * (1 + place.layout.is_complex)
    return bounds.inside(f, place.bounds, address(f, place, offset), str(width), op)


def access_note(f: Function, pointer: str, stores: bool) -> str:
    """`!llvm.access.group` of a load or store inside loops whose iterations are independent."""
    if not f.groups or pointer in f.private or bounds.active():
        return ""
    f.accesses.append((stores, f.roots.get(pointer, ""), f.indices.get(pointer, ())))
    group = f.groups[0] if len(f.groups) == 1 else f.module.note("!{" + ", ".join(f.groups) + "}")
    return f", !llvm.access.group {group}"


def parallel_group(f: Function, group: str | None, since: int) -> str | None:
    """The access group of a loop whose accesses begin at `since`, where LLVM may be told that it is parallel."""
    indices = (i for _, _, indices in f.accesses[since:] for i in indices)
    if group is None or bounds.active() or _reads_back(f, since) or widths.differ(indices, f.widths):
        return None
    return group


def _reads_back(f: Function, since: int) -> bool:
    """Whether an iteration of a loop, whose accesses begin at `since`, may load what it has stored before.

    LLVM's vectoriser does not keep the order of such accesses inside an iteration once a loop is said to be parallel:
    loads that it takes together move before stores in between.
    """
    stored: set[str] = set()
    for stores, root, _ in f.accesses[since:]:
        if stores:
            stored.add(root)
        elif any(roots.meet(f, root, other) for other in stored):
            return True
    return False


def read(f: Function, pointer: str, type_: ir.Type) -> str:
    """Load a number."""
    kind = layout.in_memory(type_)
    made = f.let(f"load {kind}, ptr {pointer}, align {layout.nbytes(kind)}{access_note(f, pointer, False)}")
    return f.let(f"icmp ne i8 {made}, 0") if str(type_) == "i1" else made


def write(f: Function, operand: str, pointer: str, type_: ir.Type) -> None:
    """Store a number."""
    kind = layout.in_memory(type_)
    if str(type_) == "i1":
        operand = f.let(f"zext i1 {operand} to i8")
    f.line(f"store {kind} {operand}, ptr {pointer}, align {layout.nbytes(kind)}{access_note(f, pointer, True)}")


def _second(f: Function, pointer: str, type_: ir.Type) -> str:
    made = f.let(f"getelementptr inbounds {layout.in_memory(type_)}, ptr {pointer}, i64 1")
    if pointer in f.private:
        f.private.add(made)
    return made


def _element(f: Function, place: layout.Memory, indices: list[ir.Value], op: ir.Operation) -> str:
    """The address of an element that `op` reads or writes, whose indices are kept in mind."""
    pointer = element(f, place, offset_of(f, place, [f.one(v) for v in indices]), op)
    if f.groups:
        f.indices[pointer] = (*f.indices.get(pointer, ()), *indices)
    return pointer


@emits("memref.load")
def emit_load(f: Function, op: ir.Operation) -> None:
    place = f.memory(op.operands[0])
    pointer = _element(f, place, list(op.operands)[1:], op)
    number = place.layout.number
    parts = [read(f, pointer, number)]
    if place.layout.is_complex:
        parts.append(read(f, _second(f, pointer, number), number))
    f.define(op.results[0], *parts)


@emits("memref.store")
def emit_store(f: Function, op: ir.Operation) -> None:
    place = f.memory(op.operands[1])
    pointer = _element(f, place, list(op.operands)[2:], op)
    parts, number = f.operands(op.operands[0]), place.layout.number
    write(f, parts[0], pointer, number)
    if place.layout.is_complex:
        write(f, parts[1], _second(f, pointer, number), number)


@emits("memref.prefetch")
def emit_prefetch(f: Function, op: ir.Operation) -> None:
    """A hint, which may be for a place after the end of the memory."""
    place = f.memory(op.operands[0])
    offset = offset_of(f, place, [f.one(v) for v in list(op.operands)[1:]])
    kind = layout.in_memory(place.layout.number)
    if place.layout.is_complex:
        kind = f"{{ {kind}, {kind} }}"
    pointer = f.let(f"getelementptr {kind}, ptr {place.pointer}, i64 {offset}")
    writes = int(ir.BoolAttr(op.attributes["isWrite"]).value)
    near = ir.IntegerAttr(op.attributes["localityHint"]).value
    callee = f.module.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"], "")
    f.line(f"call void {callee}(ptr {pointer}, i32 {writes}, i32 {near}, i32 1)")


# -- local arrays

@emits("memref.alloca", "memref.alloc")
def emit_allocation(f: Function, op: ir.Operation) -> None:
    if op.results[0] in f.values:  # shared memory of a kernel: its block has made it
        return
    type_ = op.results[0].type
    place = layout.memory(type_)
    kind, width = layout.in_memory(place.number), 1 + place.is_complex
    if not place.unknown_sizes:
        count = int(np.prod(place.shape, dtype=np.int64)) * width
        nbytes = str(count * layout.nbytes(kind))
        if op.name == "memref.alloca":
            pointer = f.allocate(kind, count)
            if f.groups:
                f.private.add(pointer)
        else:
            pointer = _from_heap(f, str(max(count, 1) * layout.nbytes(kind)))
        sizes = tuple(map(str, place.shape))
    else:
        given = iter([f.one(v) for v in op.operands])
        sizes = tuple(next(given) if s is None else str(s) for s in place.shape)
        count_text = str(width * layout.nbytes(kind))
        for size in sizes:
            count_text = product(f, count_text, size)
        pointer, nbytes = _from_heap(f, count_text), count_text
        if op.name == "memref.alloca":
            raise refused("has no local arrays of run-time size", op, "memref.alloc them.")
    strides, step = [], "1"
    for size in reversed(sizes):
        strides.append(step)
        step = product(f, step, size)
    f.roots[pointer] = pointer
    limits = bounds.of_new(f, pointer, nbytes, f"a local {type_}",
                           f.entry if op.name == "memref.alloca" else None)
    f.define(op.results[0], *layout.parts_of(type_, pointer, sizes, tuple(strides[::-1]), limits))


def _from_heap(f: Function, size: str) -> str:
    return f.let(f"call noalias align 16 ptr {f.module.declare('malloc', 'ptr', ['i64'])}(i64 {size})")


@emits("memref.dealloc")
def emit_free(f: Function, op: ir.Operation) -> None:
    f.line(f"call void {f.module.declare('free', 'void', ['ptr'])}(ptr {f.one(op.operands[0])})")


@emits("memref.get_global")
def emit_global(f: Function, op: ir.Operation) -> None:
    symbol = ir.FlatSymbolRefAttr(op.attributes["name"]).value
    declared = f.module.symbols.get(symbol)
    if declared is None:
        raise refused(f"reads @{symbol}, which the module does not have", op)
    name = "@" + quoted("g." + symbol)
    if symbol not in f.module.done:
        f.module.done.add(symbol)
        f.module.definitions.append(_global_text(name, declared))
    type_ = op.results[0].type
    place = layout.memory(type_)
    count = int(np.prod(place.shape, dtype=np.int64)) * (1 + place.is_complex)
    limits = bounds.of_new(f, name, str(count * layout.nbytes(layout.in_memory(place.number))), f"@{symbol}: {type_}",
                           f.entry)
    f.define(op.results[0], *layout.parts_of(type_, name, tuple(map(str, place.shape)), tuple(map(str, place.strides)),
                                             limits))


def _global_text(name: str, op: ir.Operation) -> str:
    place = layout.memory(ir.TypeAttr(op.attributes["type"]).value)
    kind, count = layout.in_memory(place.number), int(np.prod(place.shape, dtype=np.int64)) * (1 + place.is_complex)
    if "= dense<" in (written := str(op)):
        if place.is_complex:  # the bindings cannot cast such attributes
            tensor = f"tensor<{'x'.join([*map(str, place.shape), str(place.element)])}>"
            body = written[written.index("= dense<") + 2:written.rindex(">") + 1]
            raw = np.ascontiguousarray(attributes.elements_of_text(f"{body} : {tensor}"))
        else:
            raw = np.ascontiguousarray(attributes.read(op.attributes["initial_value"]))
        text = "".join(f"\\{byte:02X}" for byte in raw.tobytes())
        kind_of = "constant" if "constant" in op.attributes else "global"
        return f'{name} = internal {kind_of} [{raw.nbytes} x i8] c"{text}", align 64'
    return f"{name} = internal global [{max(count, 1)} x {kind}] zeroinitializer, align 64"


# -- views

@emits("memref.cast", "memref.memory_space_cast", "memref.assume_alignment")
def emit_cast(f: Function, op: ir.Operation) -> None:
    place, type_ = f.memory(op.operands[0]), op.results[0].type
    f.define(op.results[0], *layout.parts_of(type_, place.pointer, place.sizes, place.strides, place.bounds))


def _mixed(f: Function, op: ir.Operation, name: str, values: list[ir.Value]) -> tuple[str, ...]:
    """Static numbers with run-time ones filled in."""
    given = iter(values)
    return tuple(f.one(next(given)) if n == layout.DYNAMIC else str(n)
                 for n in ir.DenseI64ArrayAttr(op.attributes[name]))


def _segments(op: ir.Operation) -> list[list[ir.Value]]:
    values, found, at = list(op.operands), [], 0
    for size in ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]):
        found.append(values[at:at + size])
        at += size
    return found


@emits("memref.subview")
def emit_subview(f: Function, op: ir.Operation) -> None:
    source, offsets, sizes, strides = _segments(op)
    place, type_ = f.memory(source[0]), op.results[0].type
    starts = _mixed(f, op, "static_offsets", offsets)
    extents = _mixed(f, op, "static_sizes", sizes)
    steps = _mixed(f, op, "static_strides", strides)
    pointer = address(f, place, offset_of(f, place, starts))
    moved = tuple(product(f, a, b) for a, b in zip(steps, place.strides, strict=True))
    kept = _kept(extents, layout.memory(type_).shape)
    f.define(op.results[0], *layout.parts_of(type_, pointer, tuple(extents[i] for i in kept),
                                             tuple(moved[i] for i in kept), place.bounds))


def _kept(extents: tuple[str, ...], shape: tuple[int | None, ...]) -> list[int]:
    """Which dimensions of a subview its (rank-reduced) type has: ones are dropped from the left as needed."""
    extra = len(extents) - len(shape)
    kept: list[int] = []
    for i, extent in enumerate(extents):
        wanted = shape[len(kept)] if len(kept) < len(shape) else -1
        if extra and extent == "1" and wanted != 1:
            extra -= 1
        else:
            kept.append(i)
    return [i for i in kept if extents[i] != "1"] if extra else kept


@emits("memref.reinterpret_cast")
def emit_reinterpret(f: Function, op: ir.Operation) -> None:
    source, offsets, sizes, strides = _segments(op)
    place, type_ = f.memory(source[0]), op.results[0].type
    pointer = address(f, place, _mixed(f, op, "static_offsets", offsets)[0])
    f.define(op.results[0], *layout.parts_of(type_, pointer, _mixed(f, op, "static_sizes", sizes),
                                             _mixed(f, op, "static_strides", strides), place.bounds))


@emits("memref.collapse_shape", "memref.expand_shape")
def emit_reshape(f: Function, op: ir.Operation) -> None:
    place, type_ = f.memory(op.operands[0]), op.results[0].type
    wanted = layout.memory(type_)
    if wanted.unknown_sizes == 0 and None not in wanted.strides:
        f.define(op.results[0], place.pointer, *place.bounds)
        return
    if wanted.unknown_sizes == 1 and len(wanted.shape) == 1 and op.name == "memref.collapse_shape":
        count = "1"
        for size in place.sizes:
            count = product(f, count, size)
        f.define(op.results[0], *layout.parts_of(type_, place.pointer, (count,), ("1",), place.bounds))
        return
    raise refused(f"cannot reshape {op.operands[0].type} to {type_}", op)


@emits("memref.view")
def emit_view(f: Function, op: ir.Operation) -> None:
    """Bytes seen as numbers."""
    place, type_ = f.memory(op.operands[0]), op.results[0].type
    wanted = layout.memory(type_)
    given = iter([f.one(v) for v in list(op.operands)[2:]])
    sizes = tuple(next(given) if s is None else str(s) for s in wanted.shape)
    strides, step = [], "1"
    for size in reversed(sizes):
        strides.append(step)
        step = product(f, step, size)
    pointer = address(f, place, f.one(op.operands[1]))
    f.define(op.results[0], *layout.parts_of(type_, pointer, sizes, tuple(strides[::-1]), place.bounds))


@emits("memref.dim")
def emit_dim(f: Function, op: ir.Operation) -> None:
    place, number = f.memory(op.operands[0]), f.one(op.operands[1])
    if number[0] != "%":
        f.define(op.results[0], place.sizes[int(number)])
        return
    chosen = place.sizes[0]
    for i, size in enumerate(place.sizes[1:], 1):
        chosen = f.let(f"select i1 {f.let(f'icmp eq i64 {number}, {i}')}, i64 {size}, i64 {chosen}")
    f.define(op.results[0], chosen)


@emits("memref.rank")
def emit_rank(f: Function, op: ir.Operation) -> None:
    f.define(op.results[0], str(len(layout.memory(op.operands[0].type).shape)))


@emits("memref.copy")
def emit_copy(f: Function, op: ir.Operation) -> None:
    """Element by element; the two do not overlap (or are the same)."""
    source, target = f.memory(op.operands[0]), f.memory(op.operands[1])
    sizes = [s if s[0] != "%" else t for s, t in zip(source.sizes, target.sizes, strict=True)]

    def nest(dimension: int, indices: list[str]) -> None:
        if dimension < len(sizes):
            counted(f, "0", sizes[dimension], lambda i: nest(dimension + 1, [*indices, i]))
            return
        number = source.layout.number
        a = element(f, source, offset_of(f, source, indices), op)
        b = element(f, target, offset_of(f, target, indices), op)
        for _ in range(1 + source.layout.is_complex):
            write(f, read(f, a, number), b, number)
            a, b = _second(f, a, number), _second(f, b, number)
    nest(0, [])


def counted(f: Function, lower: str, upper: str, body: Callable[[str], None],
            note: str | Callable[[], str] = "") -> None:
    """`for i in range(lower, upper): body(i)` over `index` numbers; `note` may look at what the body has become."""
    head, inside, after = f.fresh("for"), f.fresh("body"), f.fresh("endfor")
    first, counter = f.block, "%" + f.fresh("iv")
    f.branch(head)
    f.start(head)
    slot = f.reserve()
    f.branch_if(f.let(f"icmp slt i64 {counter}, {upper}"), inside, after)
    f.start(inside)
    body(counter)
    following = f.let(f"add nsw i64 {counter}, 1")
    f.body[slot] = f"  {counter} = phi i64 [{lower}, %{first}], [{following}, %{f.block}]"
    f.line(f"br label %{head}{note if isinstance(note, str) else note()}")
    f.start(after)


# -- atomics

# kinds of `arith.AtomicRMWKind`
_INTEGER_ATOMIC = {1: "add", 2: "and", 3: "xchg", 6: "max", 7: "umax", 10: "min", 11: "umin", 14: "or", 15: "xor"}
_FLOAT_ATOMIC = {0: "fadd", 3: "xchg"}
_BY_COMPARING = {0: "fadd", 12: "fmul", 13: "mul", 4: "maximum", 5: "maxnum", 8: "minimum", 9: "minnum", 3: "assign"}


@emits("memref.atomic_rmw")
def emit_atomic(f: Function, op: ir.Operation) -> None:
    """Read, combine and write in one step; the result is the number that was there before."""
    place, type_ = f.memory(op.operands[1]), op.operands[0].type
    pointer = element(f, place, offset_of(f, place, [f.one(v) for v in list(op.operands)[2:]]), op)
    kind, how, operand = ir.IntegerAttr(op.attributes["kind"]).value, layout.scalar(type_), f.one(op.operands[0])
    direct = _INTEGER_ATOMIC if str(type_)[0] == "i" else _FLOAT_ATOMIC if how in ("float", "double") else {}
    if place.layout.is_complex or str(type_) == "i1":
        raise refused(f"has no atomics on {type_}", op)
    if kind in direct:
        size = layout.nbytes(how)
        f.define(op.results[0], f.let(f"atomicrmw {direct[kind]} ptr {pointer}, {how} {operand} seq_cst, align {size}"))
        return
    if kind not in _BY_COMPARING:
        raise refused(f"has no atomic of kind {kind} on {type_}", op)

    def combined(old: str) -> str:
        name = _BY_COMPARING[kind]
        if name == "assign":
            return operand
        if name == "mul":
            return f.let(f"mul {how} {old}, {operand}")
        (wide, a), (_, b) = widened(f, old, type_), widened(f, operand, type_)
        if name in ("fadd", "fmul"):
            made = f.let(f"{name} {wide} {a}, {b}")
        elif name in ("maxnum", "minnum"):
            made = extreme_number(f, name, wide, a, b)
        else:
            made = f.intrinsic(f"llvm.{name}.{'f64' if wide == 'double' else 'f32'}", wide, [(wide, a), (wide, b)])
        return narrowed(f, made, wide, type_)
    f.define(op.results[0], by_comparing(f, pointer, how, combined))


def by_comparing(f: Function, pointer: str, how: str, combined: Callable[[str], str]) -> str:
    """Replace a number in memory by `combined(number)` in one step (a compare-and-swap loop); the old number."""
    size = layout.nbytes(how)
    bits = how if how[0] == "i" else f"i{8 * size}"
    first = f.let(f"load atomic {bits}, ptr {pointer} monotonic, align {size}")
    head, after, before = f.fresh("swap"), f.fresh("swapped"), f.block
    f.branch(head)
    f.start(head)
    seen, slot = "%" + f.fresh("seen"), f.reserve()
    old = seen if bits == how else f.let(f"bitcast {bits} {seen} to {how}")
    new = combined(old)
    raw = new if bits == how else f.let(f"bitcast {how} {new} to {bits}")
    pair = f.let(f"cmpxchg ptr {pointer}, {bits} {seen}, {bits} {raw} seq_cst seq_cst, align {size}")
    found = f.let(f"extractvalue {{ {bits}, i1 }} {pair}, 0")
    f.body[slot] = f"  {seen} = phi {bits} [{first}, %{before}], [{found}, %{f.block}]"
    f.branch_if(f.let(f"extractvalue {{ {bits}, i1 }} {pair}, 1"), after, head)
    f.start(after)
    return old


@emits("memref.generic_atomic_rmw")
def emit_generic_atomic(f: Function, op: ir.Operation) -> None:
    """The region says what becomes of the number; the result is the number that was there before."""
    place, block = f.memory(op.operands[0]), op.regions[0].blocks[0]
    pointer = element(f, place, offset_of(f, place, [f.one(v) for v in list(op.operands)[1:]]), op)
    if place.layout.is_complex or str(place.layout.number) == "i1":
        raise refused(f"has no atomics on {place.layout.element}", op)

    def combined(old: str) -> str:
        f.define(block.arguments[0], old)
        return f.one(f.emit_block(block).operands[0])
    f.define(op.results[0], by_comparing(f, pointer, layout.scalar(place.layout.number), combined))
