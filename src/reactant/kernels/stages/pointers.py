"""Step 2: pointers -> memrefs and indices. A function of blocks and branches whose memory is as `form` says.

Every pointer is a base (an argument, a shared or local array, a table) and a distance from its start, in elements of
the base plus bytes where the two do not divide. Distances are computed in `index`; a pointer that a block's parameter
carries becomes the index it carries. A pointer that may mean several bases carries a number saying which, and accesses
through it ask for the number. `bases` decides the elements.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError, in_kernel
from reactant.ir.context import building
from reactant.kernels.form.bases import (
    BLOCK_OPS,
    NULL,
    Base,
    Bases,
    bytes_of_unit,
    constant_of,
    is_pointer,
)
from reactant.kernels.form.build import Builder
from reactant.kernels.form.form import kernel_of, span_of
from reactant.kernels.form.interpret import numpy_type
from reactant.kernels.form.rebuild import (
    Edge,
    argument_attributes,
    blocks_of,
    case_values,
    copied,
    edges,
    new_function,
    reverse_postorder,
    terminator_of,
)
from reactant.kernels.form.record import Table
from reactant.kernels.stages import atomics, tables
from reactant.kernels.stages.addresses import ADDRESS_BITS, UNROLLED, Address
from reactant.kernels.stages.ingest_values import signed
from reactant.kernels.stages.members import Members


def resolve_pointers(module: ir.Module) -> ir.Module:
    """Change the module's kernel. Errors: UnsupportedError names the kernel's line."""
    with building():
        old = kernel_of(module)
        Pointers(module, old).rebuild()
        old.erase()
        for op in [op.operation for op in module.body.operations]:
            if op.name == "llvm.mlir.global":
                op.erase()
    return module


class Pointers(Builder):
    """The rebuilding of one function."""

    def __init__(self, module: ir.Module, old: ir.Operation):
        super().__init__()
        self.module, self.old = module, old
        self.analysis = Bases(module, old)
        self.bases = self.analysis.bases
        self.values: dict[ir.Value, ir.Value] = {}
        self.addresses: dict[ir.Value, Address] = {}
        self.memory: dict[int, ir.Value] = {}
        self.members: dict[int, Members] = {}

    def rebuild(self) -> None:
        old_blocks = blocks_of(self.old)
        types, attributes = [], []
        for argument, given in zip(old_blocks[0].arguments, argument_attributes(self.old), strict=True):
            kind = argument.type
            if is_pointer(argument):
                number = next(iter(self.analysis.of[argument]))
                base = self.bases[number]
                if "reactant.fields" in given:
                    self.members[number] = members = Members.of(base, given, old_blocks, self.values)
                    types += members.types
                    attributes += members.attributes
                    continue
                kind = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], ir.Type.parse(base.element))
                given = {**given, "reactant.elements": ir.IntegerAttr.get(ir.IntegerType.get_signless(64),
                                                                          base.size // base.unit)}
            types.append(kind)
            attributes.append(given)
        self.function, entry = new_function(self.old, types, attributes)
        self.entry = entry
        new_blocks = [entry]
        for block in old_blocks[1:]:
            kinds = [k for argument in block.arguments for k in self.carried_types(argument)]
            new_blocks.append(new_blocks[-1].create_after(*kinds))
        with ir.InsertionPoint(entry), self.old.location:
            arguments = iter(entry.arguments)
            for argument in old_blocks[0].arguments:
                number = next(iter(self.analysis.of.get(argument, ())), NULL)
                if number in self.members:
                    self.members[number].memory = [next(arguments) for _ in self.members[number].types]
                else:
                    self.values[argument] = next(arguments)
            self.make_memory()
        successors = [[e.target for e in edges(old_blocks, terminator_of(b))] for b in old_blocks]
        for number in reverse_postorder(successors):
            with ir.InsertionPoint(new_blocks[number]):
                if number:
                    self.parameters(old_blocks[number], new_blocks[number])
                for op in old_blocks[number].operations:
                    with op.location:
                        self.operation(op.operation, old_blocks, new_blocks)
        reachable = set(reverse_postorder(successors))
        for number, block in enumerate(new_blocks):
            if number not in reachable:
                with ir.InsertionPoint(block):
                    ir.Operation.create("func.return", loc=self.old.location)

    # -- memory

    def make_memory(self) -> None:
        """Memrefs of all bases, at the top of the function."""
        shared = ir.Attribute.parse("#gpu.address_space<workgroup>")
        for number, base in enumerate(self.bases):
            element = ir.Type.parse(base.element)
            if number in self.members:
                continue
            if base.kind == "argument":
                assert base.value is not None
                self.memory[number] = self.values[base.value]
            elif base.kind == "table":
                self.memory[number] = self.table(number, base, element)
            else:
                kind = ir.MemRefType.get([base.size // base.unit], element,
                                         memory_space=shared if base.kind == "shared" else None)
                attributes = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])}
                if base.shape and int(np.prod(base.shape)) == base.size // base.unit:
                    attributes["reactant.shape"] = ir.DenseI64ArrayAttr.get(base.shape)
                if base.name:
                    attributes["reactant.name"] = ir.StringAttr.get(base.name)
                # Shared memory is an `alloc` while MLIR's mem2reg runs, which would take it for the thread's own.
                name = "memref.alloc" if base.kind == "shared" else "memref.alloca"
                self.memory[number] = ir.Operation.create(name, [kind], attributes=attributes).results[0]

    def table(self, number: int, base: Base, element: ir.Type) -> ir.Value:
        content = np.frombuffer(base.content or b"", numpy_type(element))
        kind = ir.MemRefType.get([len(content)], element)
        symbol = f"table{sum(b.kind == 'table' for b in self.bases[:number])}"
        raw = ir.DenseElementsAttr.get(np.ascontiguousarray(content), type=element, shape=[len(content)])
        with ir.InsertionPoint.at_block_begin(self.module.body):
            ir.Operation.create("memref.global", attributes={
                "sym_name": ir.StringAttr.get(symbol), "sym_visibility": ir.StringAttr.get("private"),
                "type": ir.TypeAttr.get(kind), "initial_value": raw, "constant": ir.UnitAttr.get()})
        return ir.Operation.create("memref.get_global", [kind],
                                   attributes={"name": ir.FlatSymbolRefAttr.get(symbol)}).results[0]

    # -- pointers between blocks

    def choices(self, pointer: ir.Value) -> tuple[int, ...]:
        found = tuple(sorted(self.analysis.of.get(pointer, frozenset())))
        return found or (NULL,)

    def carried_types(self, parameter: ir.Value) -> list[ir.Type]:
        """What a block's parameter becomes: itself, or an index and, for several bases, which one."""
        if not is_pointer(parameter):
            return [parameter.type]
        return [self.index_type] if len(self.choices(parameter)) == 1 else [self.index_type, self.i32]

    def parameters(self, old: ir.Block, new: ir.Block) -> None:
        arguments = list(new.arguments)
        for parameter in old.arguments:
            taken = [arguments.pop(0) for _ in self.carried_types(parameter)]
            if is_pointer(parameter):
                choices = self.choices(parameter)
                self.addresses[parameter] = Address(choices[0] if len(choices) == 1 else taken[1], choices, taken[0])
            else:
                self.values[parameter] = taken[0]

    def passed(self, edge: Edge, old_blocks: list[ir.Block]) -> list[ir.Value]:
        """The values of an edge, pointers as what carries them."""
        values: list[ir.Value] = []
        for parameter, value in zip(old_blocks[edge.target].arguments, edge.values, strict=True):
            if not is_pointer(parameter):
                values.append(self.values[value])
                continue
            address = self.address(value)
            unit = self.unit_of(self.choices(parameter))
            values.append(self.distance(address, unit))
            if len(self.choices(parameter)) > 1:
                values.append(self.selector(address))
        return values

    # -- addresses

    def address(self, pointer: ir.Value) -> Address:
        found = self.addresses.get(pointer)
        if found is None:  # an argument, or something defined before
            choices = self.choices(pointer)
            found = self.addresses[pointer] = Address(choices[0], choices)
        return found

    def unit_of(self, choices: Sequence[int]) -> int:
        return next((self.bases[c].unit for c in choices if c != NULL), 1)

    def selector(self, address: Address) -> ir.Value:
        """The number of the base, as i32."""
        return self.integer(address.base, self.i32) if isinstance(address.base, int) else address.base

    def distance(self, address: Address, unit: int) -> ir.Value:
        """The distance in elements, as one index value."""
        total = address.elements
        if address.bytes is not None:
            scaled = address.bytes
            if address.constant % unit:
                scaled = self.add(scaled, self.index(address.constant))
            if unit > 1:
                scaled = self.create("arith.divsi", self.index_type, scaled, self.index(unit))
            total = scaled if total is None else self.add(total, scaled)
            if address.constant % unit:
                return total
        elif address.constant % unit:
            raise UnsupportedError("The kernel accesses memory at an address that its elements do not divide.",
                                   hint="Index arrays by whole elements.", code="kernel-memory-access")
        return self.plus(total, address.constant // unit)

    def plus(self, value: ir.Value | None, constant: int) -> ir.Value:
        if value is None:
            return self.index(constant)
        return self.add(value, self.index(constant)) if constant else value

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.wrapless("arith.addi", a, b)

    def at_llvm_getelementptr(self, op: ir.Operation) -> None:
        source = self.address(op.operands[0])
        stride = bytes_of_unit(ir.TypeAttr(op.attributes["elem_type"]).value)
        unit = self.unit_of(source.choices)
        fixed = constant_of(op.operands[1])
        made = Address(source.base, source.choices, source.elements, source.bytes, source.constant)
        self.addresses[op.results[0]] = made
        if fixed is not None:
            made.constant += signed(fixed * stride, 64)
            return
        factor, value = self.scaled(self.values[op.operands[1]], stride)
        value = self.near(value, 65 - (factor & -factor).bit_length())
        index = self.as_index(value)
        if factor % unit == 0:
            term = self.times(index, factor // unit)
            made.elements = term if made.elements is None else self.add(made.elements, term)
        elif (quotient := self.quotient(value, factor, unit)) is not None:
            made.elements = quotient if made.elements is None else self.add(made.elements, quotient)
        else:
            term = self.times(index, factor)
            made.bytes = term if made.bytes is None else self.add(made.bytes, term)

    def near(self, value: ir.Value, bits: int, depth: int = 12) -> ir.Value:
        """A number of which only so many low bits count, its constants as small as they can be: LLVM writes 2**61 - 3
        for -3 where a multiplication by 8 follows."""
        constant = constant_of(value)
        if constant is not None:
            small = signed(constant, bits)
            return value if small == constant else self.integer(small, value.type)
        owner = value.owner
        if not depth or isinstance(owner, ir.Block) or owner.name not in ("arith.addi", "arith.subi", "arith.select") \
                or self.bits(value.type) != 64:
            return value
        old = list(owner.operands)
        kept = old[:1] if owner.name == "arith.select" else []
        new = kept + [self.near(v, bits, depth - 1) for v in old[len(kept):]]
        return value if new == old else self.create(owner.name, value.type, *new)

    def scaled(self, value: ir.Value, stride: int) -> tuple[int, ir.Value]:
        """(factor, rest) of value * stride, constant factors of the value moved out."""
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.name == "arith.muli":
            constant = constant_of(owner.operands[1])
            if constant is not None and constant > 0:
                return stride * constant, owner.operands[0]
        return stride, value

    def quotient(self, value: ir.Value, factor: int, unit: int) -> ir.Value | None:
        """value * factor / unit where the value is a sum whose terms all divide; else None."""
        constant = constant_of(value)
        if constant is not None:
            return self.index(constant * factor // unit) if constant * factor % unit == 0 else None
        factor, value = self.scaled(value, factor)
        if factor % unit == 0:
            return self.times(self.as_index(value), factor // unit)
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.name in ("arith.addi", "arith.subi"):
            left = self.quotient(owner.operands[0], factor, unit)
            right = self.quotient(owner.operands[1], factor, unit) if left is not None else None
            if left is not None and right is not None:
                return self.wrapless(owner.name, left, right)
        return None

    def at_llvm_addrspacecast(self, op: ir.Operation) -> None:
        self.addresses[op.results[0]] = self.address(op.operands[0])

    def at_llvm_alloca(self, op: ir.Operation) -> None:
        self.address(op.results[0])

    at_llvm_mlir_addressof = at_llvm_mlir_zero = at_llvm_alloca

    def select(self, op: ir.Operation) -> None:
        """A pointer chosen from two."""
        condition = self.values[op.operands[0]]
        first, second = (self.address(v) for v in list(op.operands)[1:])
        choices = self.choices(op.results[0])
        unit = self.unit_of(choices)
        distances = [self.distance(a, unit) for a in (first, second)]
        base: int | ir.Value = choices[0]
        if len(choices) > 1:
            base = self.create("arith.select", self.i32, condition, self.selector(first), self.selector(second))
        chosen = self.create("arith.select", self.index_type, condition, *distances)
        self.addresses[op.results[0]] = Address(base, choices, chosen)

    def whole_address(self, address: Address) -> ir.Value:
        """A pointer as i64."""
        unit = self.unit_of(address.choices)
        distance = self.create("arith.index_cast", self.i64, self.times(self.distance(address, unit), unit))
        if address.choices == (NULL,):
            return distance
        if isinstance(address.base, int):
            start = self.integer(address.base + 1 << ADDRESS_BITS, self.i64)
        else:
            number = self.create("arith.extsi", self.i64, address.base)
            start = self.create("arith.shli", self.i64, self.create(
                "arith.addi", self.i64, number, self.integer(1, self.i64)), self.integer(ADDRESS_BITS, self.i64))
        return self.create("arith.addi", self.i64, start, distance)

    def at_llvm_ptrtoint(self, op: ir.Operation) -> None:
        whole = self.whole_address(self.address(op.operands[0]))
        width = ir.IntegerType(op.results[0].type).width
        self.values[op.results[0]] = whole if width == 64 else self.create("arith.trunci", op.results[0].type, whole)

    def at_llvm_inttoptr(self, op: ir.Operation) -> None:
        choices = self.choices(op.results[0])
        if choices == (NULL,) or ir.IntegerType(op.operands[0].type).width != 64:
            self.addresses[op.results[0]] = Address(NULL, (NULL,))
            return
        self.addresses[op.results[0]] = self.address_of_integer(self.values[op.operands[0]], choices)

    def address_of_integer(self, value: ir.Value, choices: tuple[int, ...]) -> Address:
        """The address that an i64 of `whole_address` stands for."""
        base: int | ir.Value = choices[0]
        if len(choices) > 1:
            number = self.create("arith.shrui", self.i64, value, self.integer(ADDRESS_BITS, self.i64))
            base = self.create("arith.trunci", self.i32, self.create(
                "arith.subi", self.i64, number, self.integer(1, self.i64)))
        mask = self.integer((1 << ADDRESS_BITS) - 1, self.i64)
        inside = self.create("arith.index_cast", self.index_type, self.create("arith.andi", self.i64, value, mask))
        return Address(base, choices, None, inside)

    def at_llvm_icmp(self, op: ir.Operation) -> None:
        """Pointers are compared as distances where both have one base, else as whole addresses."""
        first, second = (self.address(v) for v in op.operands)
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        kind = ir.IntegerType.get_signless(1)
        if isinstance(first.base, int) and first.choices == second.choices and first.base != NULL:
            unit = self.unit_of(first.choices)
            pair = [self.distance(a, unit) for a in (first, second)]
            predicate -= 4 if predicate >= 6 else 0  # distances may be negative: unsigned comparisons become signed
        else:
            pair = [self.whole_address(a) for a in (first, second)]
        made = ir.Operation.create("arith.cmpi", [kind], pair, attributes={
            "predicate": ir.IntegerAttr.get(self.i64, predicate)})
        self.values[op.results[0]] = made.results[0]

    # -- accesses

    def through(self, address: Address, access: Callable[[int, ir.Value], list[ir.Value]],
                results: Sequence[ir.Type], op: ir.Operation) -> list[ir.Value]:
        """Do something at an address: `access` gets a base and an index. Several bases become a chain of ifs."""
        choices = [c for c in address.choices if c != NULL]
        if not choices:
            raise in_kernel("The kernel accesses memory through a null pointer.", hint="Give it an array.",
                            code="kernel-memory-access", span=span_of(op))
        index = self.distance(address, self.unit_of(choices))
        return self.chain(address, choices, lambda number: access(number, index), results)

    def chain(self, address: Address, choices: list[int], access: Callable[[int], list[ir.Value]],
              results: Sequence[ir.Type]) -> list[ir.Value]:
        if len(choices) == 1:
            return access(choices[0])
        assert not isinstance(address.base, int)
        here = self.compare("eq", address.base, self.integer(choices[0], self.i32))
        return self.if_else(here, results, lambda: access(choices[0]),
                            lambda: self.chain(address, choices[1:], access, results))

    def at_llvm_load(self, op: ir.Operation) -> None:
        kind = op.results[0].type
        if is_pointer(op.results[0]):
            table = tables.table_of(self.bases, self.choices(op.operands[0]), op)
            if table is not None:
                self.row(op, table)
                return
            value = self.through(self.address(op.operands[0]), lambda number, index: [
                self.loaded(number, index, self.i64)], [self.i64], op)[0]
            self.addresses[op.results[0]] = self.address_of_integer(value, self.choices(op.results[0]))
            return
        self.values[op.results[0]] = self.through(
            self.address(op.operands[0]), lambda number, index: [self.loaded(number, index, kind)], [kind], op)[0]

    def row(self, op: ir.Operation, table: Table) -> None:
        """The address of a row, which a table has."""
        source, choices = self.address(op.operands[0]), self.choices(op.results[0])
        elements, bytes_ = tables.distance(
            self, table, lambda: self.distance(source, 8), lambda: self.through(
                source, lambda number, index: [self.loaded(number, index, self.i64)], [self.i64], op)[0],
            self.unit_of(choices))
        self.addresses[op.results[0]] = Address(choices[0], choices, elements, bytes_)

    def at_llvm_store(self, op: ir.Operation) -> None:
        stored = op.operands[0]
        value = self.whole_address(self.address(stored)) if is_pointer(stored) else self.values[stored]

        def access(number: int, index: ir.Value) -> list[ir.Value]:
            together = "volatile_" in op.attributes and self.bases[number].kind == "shared"
            if together:
                self.warp_barrier()
            self.stored(number, index, value)
            if together:
                self.warp_barrier()
            return []
        self.through(self.address(op.operands[1]), access, [], op)

    def warp_barrier(self) -> None:
        """Around volatile writes into shared memory: code from before independent thread scheduling relies on lanes
        of a warp that go on together (`s[t] += s[t + 16]; s[t] += s[t + 8]`)."""
        ir.Operation.create("func.call", [], [self.integer(-1, self.i32)],
                            {"callee": ir.FlatSymbolRefAttr.get("reactant.barrier.warp")})

    def place(self, number: int, index: ir.Value, kind: ir.Type) -> tuple[ir.Value, ir.Value, str] | None:
        """(memory, index, element type) of a value of type `kind` in a base; None where it has to be put together."""
        if number in self.members:
            return self.members[number].place(self, index, self.bits(kind) // 8)
        base = self.bases[number]
        return (self.memory[number], index, base.element) if self.bits(kind) == 8 * base.unit else None

    def is_padding(self, number: int, index: ir.Value, kind: ir.Type) -> bool:
        return number in self.members and self.members[number].is_padding(self, index, self.bits(kind) // 8)

    def loaded(self, number: int, index: ir.Value, kind: ir.Type) -> ir.Value:
        """The value of type `kind` at an index of a base."""
        place = self.place(number, index, kind)
        if place is not None:
            return self.reinterpret(self.create("memref.load", ir.Type.parse(place[2]), *place[:2]), kind)
        if self.is_padding(number, index, kind):
            return self.zero(kind)
        whole, narrow, total = ir.IntegerType.get_signless(self.bits(kind)), self.piece(number, kind), None
        for piece in range(whole.width // narrow.width):
            part = self.create("arith.extui", whole, self.loaded(number, self.plus(index, piece), narrow))
            if piece:
                part = self.create("arith.shli", whole, part, self.integer(narrow.width * piece, whole))
            total = part if total is None else self.create("arith.ori", whole, total, part)
        assert total is not None
        return self.reinterpret(total, kind)

    def stored(self, number: int, index: ir.Value, value: ir.Value) -> None:
        place = self.place(number, index, value.type)
        if place is not None:
            ir.Operation.create("memref.store", [], [self.reinterpret(value, ir.Type.parse(place[2])), *place[:2]])
            return
        if self.is_padding(number, index, value.type):
            return
        whole, narrow = ir.IntegerType.get_signless(self.bits(value.type)), self.piece(number, value.type)
        value = self.reinterpret(value, whole)
        for piece in range(whole.width // narrow.width):
            part = value if not piece else self.create("arith.shrui", whole, value,
                                                       self.integer(narrow.width * piece, whole))
            self.stored(number, self.plus(index, piece), self.create("arith.trunci", narrow, part))

    def piece(self, number: int, kind: ir.Type) -> ir.IntegerType:
        """What a wider value is put together of."""
        unit = 8 * self.bases[number].unit
        if self.bits(kind) <= unit:
            raise UnsupportedError("The kernel accesses a part of a struct's member.",
                                   hint="Access members by name, with their own types.", code="kernel-memory-access")
        return ir.IntegerType.get_signless(unit)

    def at_llvm_atomicrmw(self, op: ir.Operation) -> None:
        value = self.values[op.operands[1]]
        kind = ir.IntegerAttr(op.attributes["bin_op"]).value

        def access(number: int, index: ir.Value) -> list[ir.Value]:
            memory, at = self.require_whole(number, index, value.type, op)
            return [atomics.read_modify_write(self, kind, memory, at, value)]
        self.values[op.results[0]] = self.through(self.address(op.operands[0]), access, [value.type], op)[0]

    def at_llvm_cmpxchg(self, op: ir.Operation) -> None:
        expected, new = (self.values[v] for v in list(op.operands)[1:])

        def access(number: int, index: ir.Value) -> list[ir.Value]:
            memory, at = self.require_whole(number, index, new.type, op)
            return [atomics.compare_exchange(self, memory, at, expected, new)]
        old = self.through(self.address(op.operands[0]), access, [new.type], op)[0]
        self.values[op.results[0]] = old
        self.exchanged = getattr(self, "exchanged", {})
        self.exchanged[op.results[0]] = expected

    def at_llvm_extractvalue(self, op: ir.Operation) -> None:
        """(old value, whether it was the expected one) of a cmpxchg."""
        pair = op.operands[0]
        old = self.values[pair]
        if list(ir.DenseI64ArrayAttr(op.attributes["position"])) == [0]:
            self.values[op.results[0]] = old
        else:
            self.values[op.results[0]] = self.compare("eq", old, self.exchanged[pair])

    def require_whole(self, number: int, index: ir.Value, kind: ir.Type, op: ir.Operation) -> tuple[ir.Value, ir.Value]:
        """(memory, index) of what is changed at once."""
        place = self.place(number, index, kind)
        if place is None:
            raise in_kernel(f"The kernel accesses one array atomically as {kind} and elsewhere in smaller pieces, "
                            "which cannot be compiled.", hint="Use one type for all accesses of the array.",
                            code="kernel-memory-access", span=span_of(op))
        return place[:2]

    # -- blocks of memory

    def block_operation(self, op: ir.Operation) -> None:
        """memcpy, memmove, memset, element by element."""
        target = self.address(op.operands[0])
        unit = self.unit_of(target.choices)
        length = constant_of(op.operands[2])
        fills = op.name == "llvm.intr.memset"
        source = None if fills else self.address(op.operands[1])
        narrow = ir.IntegerType.get_signless(8 * unit)

        def value_at(offset: ir.Value) -> ir.Value:
            if source is not None:
                return self.at_offset(source, offset, lambda n, i: [self.loaded(n, i, narrow)], [narrow], op)[0]
            byte = self.values[op.operands[1]]
            value = self.create("arith.extui", narrow, byte) if unit > 1 else byte
            repeated = sum(1 << 8 * i for i in range(unit))
            return self.create("arith.muli", narrow, value, self.integer(repeated, narrow))

        def store_at(offset: ir.Value, value: ir.Value) -> None:
            def access(number: int, index: ir.Value) -> list[ir.Value]:
                self.stored(number, index, value)
                return []
            self.at_offset(target, offset, access, [], op)
        if length is not None and length // unit <= UNROLLED:
            offsets = [self.index(i) for i in range(length // unit)]
            values = [value_at(o) for o in offsets]
            for offset, value in zip(offsets, values, strict=True):
                store_at(offset, value)
            return
        count = self.index(length // unit) if length is not None else self.create(
            "arith.divui", self.index_type, self.as_index(self.values[op.operands[2]]), self.index(unit))

        def forward(i: ir.Value) -> None:
            store_at(i, value_at(i))

        def backward(i: ir.Value) -> None:
            last = self.wrapless("arith.subi", count, self.index(1))
            forward(self.wrapless("arith.subi", last, i))
        if op.name == "llvm.intr.memmove" and source is not None and set(source.choices) & set(target.choices):
            ahead = self.compare("sle", self.distance(target, unit), self.distance(source, unit))
            self.if_else(ahead, [], lambda: self.count_up(count, forward), lambda: self.count_up(count, backward))
        else:
            self.count_up(count, forward)

    def at_offset(self, address: Address, offset: ir.Value, access: Callable[[int, ir.Value], list[ir.Value]],
                  results: Sequence[ir.Type], op: ir.Operation) -> list[ir.Value]:
        return self.through(address, lambda number, index: access(number, self.add(index, offset)), results, op)

    # -- everything else

    def operation(self, op: ir.Operation, old_blocks: list[ir.Block], new_blocks: list[ir.Block]) -> None:
        handler = getattr(self, "at_" + op.name.replace(".", "_"), None)
        if handler is not None:
            handler(op)
        elif op.name in BLOCK_OPS:
            self.block_operation(op)
        elif op.name == "arith.select" and is_pointer(op.results[0]):
            self.select(op)
        elif op.name in ("cf.br", "cf.cond_br", "cf.switch"):
            self.branch(op, old_blocks, new_blocks)
        else:
            made = copied(op, lambda v: self.values.get(v, v))
            for before, after in zip(op.results, made.results, strict=True):
                self.values[before] = after

    def branch(self, op: ir.Operation, old_blocks: list[ir.Block], new_blocks: list[ir.Block]) -> None:
        ways = edges(old_blocks, op)
        passed = [self.passed(e, old_blocks) for e in ways]
        successors = [new_blocks[e.target] for e in ways]
        flag = [self.values[op.operands[0]]] if op.name != "cf.br" else []
        attributes: dict[str, ir.Attribute] = {}
        if op.name == "cf.cond_br":
            attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, *map(len, passed)])
        elif op.name == "cf.switch":
            sizes = [len(p) for p in passed[1:]]
            attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, len(passed[0]), sum(sizes)])
            attributes["case_operand_segments"] = ir.DenseI32ArrayAttr.get(sizes)
            if case_values(op):
                attributes["case_values"] = op.attributes["case_values"]
        ir.Operation.create(op.name, [], [*flag, *(v for p in passed for v in p)], attributes=attributes,
                            successors=successors)
