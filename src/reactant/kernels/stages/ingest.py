"""Step 1: LLVM IR -> MLIR. A function of blocks and branches in arith, math, cf and gpu; memory still by pointers.

The module that comes out has `func.func @kernel` with `!llvm.ptr` where the LLVM function has pointers, and
`llvm.load`, `store`, `getelementptr` (one index, in units of the type named), `alloca`, `addressof`, `atomicrmw`,
`cmpxchg` on them; everything else is already of the structured form (`form`). Vectors and structs are taken apart into
scalars, wide loads and stores into those of their elements. Undefined values are zero, `freeze` is nothing, fences are
nothing.
"""
from __future__ import annotations

import re

import numpy as np
from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.kernels.form.record import Buffer, KernelRecord, Scalar
from reactant.kernels.llvm_ir.llvm_text import Global, Instruction, Typed, read_module
from reactant.kernels.llvm_ir.llvm_types import VOID, Type
from reactant.kernels.stages import ingest_calls
from reactant.kernels.stages.ingest_values import (
    aligned,
    alignment,
    content_bytes,
    dimensions,
    fast_math,
    leaf,
    part_of,
    signed,
    symbol,
)
from reactant.kernels.stages.ingest_writer import IngestWriter

INTEGER = {"add": "addi", "sub": "subi", "mul": "muli", "udiv": "divui", "sdiv": "divsi", "urem": "remui",
           "srem": "remsi", "shl": "shli", "lshr": "shrui", "ashr": "shrsi", "and": "andi", "or": "ori", "xor": "xori"}
FLOAT = {"fadd": "addf", "fsub": "subf", "fmul": "mulf", "fdiv": "divf", "frem": "remf"}
CASTS = {"trunc": "trunci", "zext": "extui", "sext": "extsi", "fptrunc": "truncf", "fpext": "extf", "fptoui": "fptoui",
         "fptosi": "fptosi", "uitofp": "uitofp", "sitofp": "sitofp"}
KINDS = ("xchg", "add", "sub", "and", "nand", "or", "xor", "max", "min", "umax", "umin", "fadd", "fsub", "fmax", "fmin",
         "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat", "fmaximum", "fminimum")


def ingest(record: KernelRecord) -> ir.Module:
    """The kernel of a record as MLIR. Errors: UnsupportedError names the kernel's line."""
    module = read_module(record.llvm)
    with building():
        text = Ingest(module, module.functions[record.entry], record).module_text()
        return ir.Module.parse(text)


class Ingest(IngestWriter):
    """Reads one function, block after block."""

    # -- the whole

    def module_text(self) -> str:
        arguments = []
        for (kind, name, _), parameter in zip(self.function.arguments, self.record.parameters, strict=True):
            value = self.fresh()
            self.names[name] = [value]
            arguments.append(f"{value}: {kind.mlir()} {{{self.argument_attributes(parameter)}}}")
        self.name_results()
        for name, instructions in self.function.blocks.items():
            self.block(name, instructions)
        first = next(iter(self.function.blocks))
        lines = self.without_aliases()
        grid, block = self.record.grid, self.record.block
        return "\n".join([
            "module {", *(self.global_text(g) for g in self.used_globals.values()),
            *(f"func.func private @{name}{signature}" for name, signature in self.used_calls.items()),
            f"func.func @kernel({', '.join(arguments)}) attributes {{gpu.kernel, "
            f"reactant.grid = array<i64: {grid[0]}, {grid[1]}, {grid[2]}>, "
            f"reactant.block = array<i64: {block[0]}, {block[1]}, {block[2]}>}} {{",
            *self.head, f"cf.br {self.label(first)}", *lines, "}", "}"])

    def without_aliases(self) -> list[str]:
        """The lines with every alias replaced by what it stands for."""
        def root(name: str) -> str:
            while name in self.aliases:
                name = self.aliases[name]
            return name
        roots = {name: root(name) for name in self.aliases}
        return [re.sub(r"%v\d+", lambda m: roots.get(m[0], m[0]), line) for line in self.lines]

    def argument_attributes(self, parameter: Buffer | Scalar) -> str:
        attributes = [f'reactant.name = "{parameter.name}"', f'reactant.dtype = "{np.dtype(parameter.dtype).name}"']
        if isinstance(parameter, Buffer):
            attributes.append(f"reactant.elements = {parameter.elements} : i64")
            attributes.append(f"reactant.shape = array<i64{': ' if parameter.shape else ''}"
                              f"{', '.join(map(str, parameter.shape))}>")
            if not parameter.written:
                attributes.append("reactant.constant")
            if parameter.table is not None:
                attributes.append(f'reactant.table = "{parameter.table}"')
            if parameter.fields:
                members = (f'"{f.name}:{f.offset}:{np.dtype(f.dtype).name}:{f.count}"' for f in parameter.fields)
                attributes.append(f"reactant.fields = [{', '.join(members)}]")
        return ", ".join(attributes)

    def global_text(self, made: Global) -> str:
        size = made.type.size()
        if made.external and made.space == 3 and not size:
            size = self.record.dynamic_shared
        kind = f"!llvm.array<{size} x i8>"
        shape = ", ".join(map(str, dimensions(made.type)))
        attributes = f"addr_space = {made.space} : i32, reactant.shape = array<i64: {shape}>" if shape else (
            f"addr_space = {made.space} : i32")
        if made.value is None or made.value.kind == "undef" or (made.space == 3):
            return f"llvm.mlir.global internal @{symbol(made.name)}() {{{attributes}}} : {kind}"
        content = np.frombuffer(content_bytes(made.type, made.value), np.int8).tolist()
        constant = "constant " if made.constant else ""
        return (f"llvm.mlir.global internal {constant}@{symbol(made.name)}(dense<{content}> : tensor<{size}xi8>) "
                f"{{{attributes}}} : {kind}")

    def name_results(self) -> None:
        """Names for all results, so that uses may come before definitions."""
        for instructions in self.function.blocks.values():
            for made in instructions:
                if made.result is not None:
                    self.names[made.result] = [self.fresh() for _ in self.result_type(made).elements()]

    def result_type(self, made: Instruction) -> Type:
        opcode = made.opcode
        if opcode in ("icmp", "fcmp"):
            bit = Type("int", 1)
            return Type("vector", made.type.count, (bit,)) if made.type.kind == "vector" else bit
        if opcode in ("alloca", "getelementptr"):
            base = made.operands[0][0] if made.operands else Type("ptr")
            return base
        if opcode in ("select",):
            return made.operands[1][0]
        if opcode in ("fneg", "freeze", "insertvalue", "insertelement"):
            return made.operands[0][0]
        if opcode == "extractelement":
            return made.operands[0][0].parts[0]
        if opcode == "extractvalue":
            return part_of(made.operands[0][0], made.extra)[0]
        if opcode == "shufflevector":
            return Type("vector", made.operands[2][0].count, made.operands[0][0].parts)
        if opcode == "cmpxchg":
            return Type("struct", 0, (made.operands[1][0], Type("int", 1)))
        return made.type

    # -- names, constants, lines

    def label(self, block: str) -> str:
        return f"^{re.sub(r'[^A-Za-z0-9_]', lambda m: f'_{ord(m[0])}_', 'b' + block)}"

    # -- blocks

    def block(self, name: str, instructions: list[Instruction]) -> None:
        phis = [made for made in instructions if made.opcode == "phi"]
        parameters = [f"{n}: {t.mlir()}" for made in phis
                      for n, (t, _) in zip(self.names[made.result or ""], made.type.elements(), strict=True)]
        self.lines.append(f"{self.label(name)}{'(' + ', '.join(parameters) + ')' if parameters else ''}:")
        self.block_name = name
        for made in instructions[len(phis):]:
            self.current = made
            place = self.module.place(made.location)
            self.location = f' loc("{place[0]}":{place[1]}:{place[2]})' if place else ""
            self.instruction_into(made, self.names[made.result] if made.result is not None else [])

    def successor(self, name: str) -> str:
        """`^label(values : types)` for a branch from the current block."""
        values, types = [], []
        for made in self.function.blocks[name]:
            if made.opcode != "phi":
                break
            value = next(v for v, source in made.extra if source == self.block_name)
            values += self.scalars((made.type, value))
            types += [t.mlir() for t, _ in made.type.elements()]
        return f"{self.label(name)}({', '.join(values)} : {', '.join(types)})" if values else self.label(name)

    # -- instructions

    def instruction_into(self, made: Instruction, results: list[str]) -> None:
        opcode = made.opcode
        if opcode in INTEGER or opcode in FLOAT:
            self.binary(made, results)
        elif opcode in CASTS:
            self.cast(made, results)
        else:
            handler = getattr(self, f"at_{opcode}", None)
            if handler is None:
                raise self.unsupported(f"the LLVM instruction {opcode}")
            handler(made, results)

    def binary(self, made: Instruction, results: list[str]) -> None:
        kind = made.type if made.opcode in INTEGER and made.type != VOID else made.operands[0][0]
        name = "arith." + (INTEGER.get(made.opcode) or FLOAT[made.opcode])
        flags = ""
        if made.opcode == "or" and "disjoint" in made.words:
            name, flags = "arith.addi", " overflow<nsw, nuw>"
        elif made.opcode in ("add", "sub", "mul", "shl"):
            kept = [w for w in made.words if w in ("nsw", "nuw")]
            flags = f" overflow<{', '.join(kept)}>" if kept else ""
        elif made.opcode in FLOAT:
            flags = fast_math(made)
        left, right = (self.scalars(o) for o in made.operands)
        for result, a, b, (t, _) in zip(results, left, right, kind.elements(), strict=True):
            if made.opcode == "shl" and (amount := self.constant_amount(made)) is not None and amount < t.count - 1:
                self.op("arith.muli", [a, self.constant(1 << amount, t.mlir())], t.mlir(), result, flags)
            else:
                self.op(name, [a, b], t.mlir(), result, flags)

    def constant_amount(self, made: Instruction) -> int | None:
        value = made.operands[1][1]
        return value.of if value.kind == "int" else None

    def cast(self, made: Instruction, results: list[str]) -> None:
        sources = self.scalars(made.operands[0])
        name = CASTS[made.opcode]
        if "nneg" in made.words:  # the same number either way; signed is what index analysis reads
            name = {"extui": "extsi", "uitofp": "sitofp"}[name]
        kept = [w for w in made.words if w in ("nsw", "nuw")]
        flags = f" overflow<{', '.join(kept)}>" if kept and made.opcode == "trunc" else ""
        pairs = zip(made.operands[0][0].elements(), made.type.elements(), strict=True)
        for result, source, ((old, _), (new, _)) in zip(results, sources, pairs, strict=True):
            self.op(f"arith.{name}", [source], f"{old.mlir()} to {new.mlir()}", result, flags)

    def at_fneg(self, made: Instruction, results: list[str]) -> None:
        kind = made.operands[0][0]
        for result, a, (t, _) in zip(results, self.scalars(made.operands[0]), kind.elements(), strict=True):
            self.op("arith.negf", [a], t.mlir(), result, fast_math(made))

    def at_icmp(self, made: Instruction, results: list[str]) -> None:
        left, right = (self.scalars(o) for o in made.operands)
        for result, a, b, (t, _) in zip(results, left, right, made.type.elements(), strict=True):
            if t.kind == "ptr":
                self.emit(result, f'llvm.icmp "{made.extra}" {a}, {b} : {t.mlir()}')
            else:
                predicate = made.extra
                if "samesign" in made.words and predicate.startswith("u"):
                    predicate = "s" + predicate[1:]
                self.op(f"arith.cmpi {predicate},", [a, b], t.mlir(), result)

    def at_fcmp(self, made: Instruction, results: list[str]) -> None:
        left, right = (self.scalars(o) for o in made.operands)
        for result, a, b, (t, _) in zip(results, left, right, made.type.elements(), strict=True):
            self.op(f"arith.cmpf {made.extra},", [a, b], t.mlir(), result, fast_math(made))

    def at_select(self, made: Instruction, results: list[str]) -> None:
        conditions, left, right = (self.scalars(o) for o in made.operands)
        if len(conditions) == 1:
            conditions = conditions * len(left)
        kinds = made.operands[1][0].elements()
        for result, c, a, b, (t, _) in zip(results, conditions, left, right, kinds, strict=True):
            self.op("arith.select", [c, a, b], t.mlir(), result)

    def at_freeze(self, made: Instruction, results: list[str]) -> None:
        self.alias(results, self.scalars(made.operands[0]))

    def at_bitcast(self, made: Instruction, results: list[str]) -> None:
        source, target = made.operands[0][0], made.type
        names = self.scalars(made.operands[0])
        old, new = [t for t, _ in source.elements()], [t for t, _ in target.elements()]
        if [t.size() for t in old] == [t.size() for t in new] and (
                [t.count for t in old if t.kind == "int"] == [t.count for t in new if t.kind == "int"] or
                all(t.count != 1 for t in old + new)):
            for result, name, a, b in zip(results, names, old, new, strict=True):
                self.reinterpret(name, a, b, result)
            return
        self.repack(names, old, new, results)

    def repack(self, names: list[str], old: list[Type], new: list[Type], results: list[str]) -> None:
        """Bits of several scalars as other scalars: through one wide integer, little endian."""
        def bits(t: Type) -> int:
            return t.count if t.kind == "int" else 8 * t.size()
        total = sum(map(bits, old))
        wide, at = self.constant(0, f"i{total}"), 0
        for name, t in zip(names, old, strict=True):
            whole = name if t.kind == "int" else self.reinterpret(name, t, Type("int", bits(t)))
            if bits(t) < total:
                whole = self.op("arith.extui", [whole], f"i{bits(t)} to i{total}")
            if at:
                whole = self.op("arith.shli", [whole, self.constant(at, f"i{total}")], f"i{total}")
            wide = self.op("arith.ori", [wide, whole], f"i{total}")
            at += bits(t)
        at = 0
        for result, t in zip(results, new, strict=True):
            piece = wide if not at else self.op("arith.shrui", [wide, self.constant(at, f"i{total}")], f"i{total}")
            if bits(t) < total:
                piece = self.op("arith.trunci", [piece], f"i{total} to i{bits(t)}")
            self.reinterpret(piece, Type("int", bits(t)), t, result)
            at += bits(t)

    # -- pointers

    def at_addrspacecast(self, made: Instruction, results: list[str]) -> None:
        name, source, target = self.scalar(made.operands[0]), made.operands[0][0], made.type
        self.emit(results[0], f"llvm.addrspacecast {name} : {source.mlir()} to {target.mlir()}")

    def at_ptrtoint(self, made: Instruction, results: list[str]) -> None:
        source = made.operands[0][0]
        self.emit(results[0], f"llvm.ptrtoint {self.scalar(made.operands[0])} : {source.mlir()} to {made.type.mlir()}")

    at_ptrtoaddr = at_ptrtoint

    def at_inttoptr(self, made: Instruction, results: list[str]) -> None:
        source = made.operands[0][0]
        self.emit(results[0], f"llvm.inttoptr {self.scalar(made.operands[0])} : {source.mlir()} to {made.type.mlir()}")

    def at_alloca(self, made: Instruction, results: list[str]) -> None:
        count = 1
        if made.extra is not None:
            if made.extra[1].kind != "int":
                raise self.unsupported("a local array whose size is known only at run time")
            count = made.extra[1].of
        shape = ", ".join(map(str, ([count] if count > 1 else []) + dimensions(made.type)))
        attributes = f" {{reactant.shape = array<i64: {shape}>}}" if shape else ""
        one = self.constant(1, "i64")
        self.emit(results[0], f"llvm.alloca {one} x !llvm.array<{count * made.type.size()} x i8>{attributes} : "
                              "(i64) -> !llvm.ptr")

    def at_getelementptr(self, made: Instruction, results: list[str]) -> None:
        pointer = self.scalar(made.operands[0])
        kind, offset = made.type, 0
        steps: list[tuple[str, Type | int]] = []
        for number, index in enumerate(made.operands[1:]):
            if number and kind.kind == "struct":
                offset += kind.offsets()[index[1].of]
                kind = kind.parts[index[1].of]
                continue
            kind = kind if not number else kind.parts[0]
            if index[1].kind == "int":
                offset += signed(index[1].of, index[0].count) * kind.size()
            elif index[1].kind not in ("zero", "undef"):
                steps.append((self.widened(index), kind))
        for index_name, element in steps:
            pointer = self.step(pointer, index_name, element, made.operands[0][0])
        if offset:
            unit = leaf(kind)
            whole = unit is not None and offset % unit.size() == 0
            stride: Type | int = unit if whole and unit is not None else 1
            count = offset // (unit.size() if whole and unit is not None else 1)
            pointer = self.step(pointer, self.constant(count, "i64"), stride, made.operands[0][0])
        self.alias(results, [pointer])

    def step(self, pointer: str, index: str, element: Type | int, kind: Type) -> str:
        """pointer + index * size of element."""
        if isinstance(element, int):
            unit = f"!llvm.array<{element} x i8>" if element != 1 else "i8"
        else:
            scalar = element.kind in ("int", "half", "bfloat", "float", "double")
            unit = element.mlir() if scalar else f"!llvm.array<{element.size()} x i8>"
        return self.emit("", f"llvm.getelementptr {pointer}[{index}] : ({kind.mlir()}, i64) -> {kind.mlir()}, {unit}")

    def widened(self, index: Typed) -> str:
        """An index as i64."""
        kind, name = index[0], self.scalar(index)
        if kind.count == 64:
            return name
        return self.op("arith.extsi" if kind.count < 64 else "arith.trunci", [name], f"{kind.mlir()} to i64")

    def offset(self, pointer: str, kind: Type, distance: int) -> str:
        return self.step(pointer, self.constant(distance, "i64"), 1, kind) if distance else pointer

    def at_load(self, made: Instruction, results: list[str]) -> None:
        pointer, space, align = self.scalar(made.operands[0]), made.operands[0][0], alignment(made)
        for result, (t, distance) in zip(results, made.type.elements(), strict=True):
            place = self.offset(pointer, space, distance)
            if t.kind == "int" and t.count == 1:
                whole = self.emit("", f"llvm.load {place} {{alignment = 1 : i64}} : {space.mlir()} -> i8")
                self.op("arith.trunci", [whole], "i8 to i1", result)
            else:
                known = f"{{alignment = {aligned(align, distance)} : i64}}"
                self.emit(result, f"llvm.load {place} {known} : {space.mlir()} -> {t.mlir()}")

    def at_store(self, made: Instruction, results: list[str]) -> None:
        (kind, value), (space, pointer_value) = made.operands
        names, pointer, align = self.scalars((kind, value)), self.scalar((space, pointer_value)), alignment(made)
        volatile = "volatile " if "volatile" in made.words else ""
        if volatile:        # lanes of a warp see it at once (`pointers`)
            self.used_calls["reactant.barrier.warp"] = "(i32)"
        for name, (t, distance) in zip(names, kind.elements(), strict=True):
            place = self.offset(pointer, space, distance)
            if t.kind == "int" and t.count == 1:
                name, t = self.op("arith.extui", [name], "i1 to i8"), Type("int", 8)
            known = f"{{alignment = {aligned(align, distance)} : i64}}"
            self.emit(None, f"llvm.store {volatile}{name}, {place} {known} : {t.mlir()}, {space.mlir()}")

    def at_atomicrmw(self, made: Instruction, results: list[str]) -> None:
        if made.extra not in KINDS or made.type.kind in ("vector", "ptr"):
            raise self.unsupported(f"atomicrmw {made.extra} on {made.type.kind}")
        pointer, value = self.scalar(made.operands[0]), self.scalar(made.operands[1])
        space = made.operands[0][0].mlir()
        kind = {"xchg": "xchg", "and": "_and", "or": "_or", "xor": "_xor"}.get(made.extra, made.extra)
        text = f"llvm.atomicrmw {kind} {pointer}, {value} monotonic : {space}, {made.type.mlir()}"
        self.emit((results or [""])[0], text)

    def at_cmpxchg(self, made: Instruction, results: list[str]) -> None:
        pointer, expected, new = (self.scalar(o) for o in made.operands)
        kind, space = made.operands[1][0].mlir(), made.operands[0][0].mlir()
        both = self.emit("", f"llvm.cmpxchg {pointer}, {expected}, {new} monotonic monotonic : {space}, {kind}")
        for number, result in enumerate(results):
            self.emit(result, f"llvm.extractvalue {both}[{number}] : !llvm.struct<({kind}, i1)>")

    def at_fence(self, made: Instruction, results: list[str]) -> None:
        """One thread sees its own accesses in order, and others meet it at barriers."""

    # -- aggregates

    def at_extractvalue(self, made: Instruction, results: list[str]) -> None:
        _, start, end = part_of(made.operands[0][0], made.extra)
        self.alias(results, self.scalars(made.operands[0])[start:end])

    def at_insertvalue(self, made: Instruction, results: list[str]) -> None:
        _, start, end = part_of(made.operands[0][0], made.extra)
        names = list(self.scalars(made.operands[0]))
        names[start:end] = self.scalars(made.operands[1])
        self.alias(results, names)

    def at_extractelement(self, made: Instruction, results: list[str]) -> None:
        names, index = self.scalars(made.operands[0]), made.operands[1]
        if index[1].kind == "int":
            self.alias(results, [names[index[1].of]])
            return
        kind, position = index[0].mlir(), self.scalar(index)
        chosen = names[0]
        for number, name in enumerate(names[1:], 1):
            here = self.op("arith.cmpi eq,", [position, self.constant(number, kind)], kind)
            chosen = self.op("arith.select", [here, name, chosen], made.operands[0][0].parts[0].mlir())
        self.alias(results, [chosen])

    def at_insertelement(self, made: Instruction, results: list[str]) -> None:
        names, new, index = list(self.scalars(made.operands[0])), self.scalar(made.operands[1]), made.operands[2]
        if index[1].kind == "int":
            names[index[1].of] = new
        else:
            kind, position = index[0].mlir(), self.scalar(index)
            for number, name in enumerate(names):
                here = self.op("arith.cmpi eq,", [position, self.constant(number, kind)], kind)
                names[number] = self.op("arith.select", [here, new, name], made.operands[0][0].parts[0].mlir())
        self.alias(results, names)

    def at_shufflevector(self, made: Instruction, results: list[str]) -> None:
        names = self.scalars(made.operands[0]) + self.scalars(made.operands[1])
        kind, mask = made.operands[2]
        if mask.kind == "list":
            chosen = [v.of if v.kind == "int" else 0 for _, v in mask.of]
        else:
            chosen = [mask.of[1].of if mask.kind == "splat" else 0] * kind.count
        self.alias(results, [names[i] for i in chosen])

    # -- control

    def at_br(self, made: Instruction, results: list[str]) -> None:
        if len(made.extra) == 1:
            self.emit(None, f"cf.br {self.successor(made.extra[0])}")
        else:
            condition = self.scalar(made.operands[0])
            yes, no = (self.successor(name) for name in made.extra)
            self.emit(None, f"cf.cond_br {condition}, {yes}, {no}")

    def at_switch(self, made: Instruction, results: list[str]) -> None:
        default, cases = made.extra
        kind, selector = made.operands[0][0], self.scalar(made.operands[0])
        targets = [f"default: {self.successor(default)}"]
        targets += [f"{signed(value, kind.count)}: {self.successor(block)}" for value, block in cases]
        self.emit(None, f"cf.switch {selector} : {kind.mlir()}, [ {', '.join(targets)} ]")

    def at_ret(self, made: Instruction, results: list[str]) -> None:
        if made.operands:
            raise self.unsupported("a result: a kernel writes into memory; the value returned")
        self.emit(None, "func.return")

    def at_unreachable(self, made: Instruction, results: list[str]) -> None:
        self.emit(None, "func.return")

    def at_call(self, made: Instruction, results: list[str]) -> None:
        ingest_calls.call(self, made, results)
