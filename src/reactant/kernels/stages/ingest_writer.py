"""MLIR text that is being written for one LLVM function: names, constants, lines, operands. `ingest` reads a function,
`ingest_calls` and `ingest_mathematics` its calls; all of them write through this.
"""
from __future__ import annotations

from collections.abc import Sequence

from reactant.errors import Span, UnsupportedError, in_kernel
from reactant.kernels.form.record import KernelRecord
from reactant.kernels.llvm_ir.llvm_text import Function, Global, Instruction, Module, Typed, Value
from reactant.kernels.llvm_ir.llvm_types import Type
from reactant.kernels.stages.ingest_values import float_text, parts_of_constant, signed, symbol


class IngestWriter:
    """One function on its way to MLIR text. SSA names are `%v<number>`; a value is the list of its scalars' names."""

    def __init__(self, module: Module, function: Function, record: KernelRecord):
        self.module, self.function, self.record = module, function, record
        self.names: dict[str, list[str]] = {}
        self.constants: dict[tuple[str, str], str] = {}
        self.head: list[str] = []
        self.lines: list[str] = []
        self.used_globals: dict[str, Global] = {}
        self.used_calls: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.count = 0
        self.location = ""
        self.current: Instruction | None = None

    def instruction_into(self, made: Instruction, results: list[str]) -> None:
        """Write an instruction whose results have these names."""
        raise NotImplementedError

    # -- names, constants, lines

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, result: str | None, text: str) -> str:
        """One op; returns the result's name (a fresh one for an empty string)."""
        if result == "":
            result = self.fresh()
        self.lines.append(f"  {f'{result} = ' if result else ''}{text}{self.location}")
        return result or ""

    def op(self, name: str, operands: Sequence[str], kind: str, result: str = "", flags: str = "") -> str:
        """An op whose operands and result have one type, or `kind` spells out more."""
        return self.emit(result, f"{name} {', '.join(operands)}{flags} : {kind}")

    def constant(self, value: object, kind: str) -> str:
        """A constant at the top of the function."""
        if kind.startswith(("f", "bf")):
            text = float_text(float(value), kind)  # type: ignore[arg-type]
        else:
            text = str(value)
            if kind == "i1":
                text = "true" if value else "false"
        key = (text, kind)
        if key not in self.constants:
            self.constants[key] = self.fresh()
            spelled = f"arith.constant {text}" if kind == "i1" else f"arith.constant {text} : {kind}"
            self.head.append(f"  {self.constants[key]} = {spelled}")
        return self.constants[key]

    def unsupported(self, what: str) -> UnsupportedError:
        place = self.module.place(self.current.location) if self.current else None
        return in_kernel(f"The kernel '{self.record.name}' uses {what}, which compiled kernels do not support.",
                         hint="Write it with what docs/kernels.md lists.", code="kernel-instruction",
                         span=None if place is None else Span.of(place[0], place[1]))

    def alias(self, results: list[str], sources: list[str]) -> None:
        """Results that are other values: at the end every use of the names is redirected."""
        self.aliases.update(zip(results, sources, strict=True))

    def reinterpret(self, name: str, old: Type, new: Type, result: str = "") -> str:
        if old == new or old.kind == new.kind == "ptr":
            if not result:
                return name
            self.alias([result], [name])
            return result
        return self.op("arith.bitcast", [name], f"{old.mlir()} to {new.mlir()}", result)

    # -- operands

    def scalars(self, typed: Typed) -> list[str]:
        """The names of a value's scalars."""
        kind, value = typed
        if value.kind == "local":
            return self.names[value.of]
        if value.kind in ("list", "bytes"):
            return [name for inner in parts_of_constant(kind, value) for name in self.scalars(inner)]
        if value.kind == "splat":
            return self.scalars(value.of) * kind.count
        if kind.kind in ("vector", "array", "struct"):
            return [self.scalars((t, value))[0] for t, _ in kind.elements()]
        if value.kind in ("undef", "zero") and kind.kind == "ptr" or value.kind == "null":
            return [self.null(kind)]
        if value.kind in ("undef", "zero"):
            return [self.constant(0, kind.mlir())]
        if value.kind == "int":
            return [self.constant(signed(value.of, kind.count), kind.mlir())]
        if value.kind == "float":
            return [self.constant(value.of, kind.mlir())]
        if value.kind == "global":
            return [self.address(value.of)]
        if value.kind == "expression":
            return self.expression(kind, value)
        raise self.unsupported(f"a {value.kind} operand")

    def scalar(self, typed: Typed) -> str:
        names = self.scalars(typed)
        if len(names) != 1:
            raise self.unsupported("a vector where a number is expected")
        return names[0]

    def null(self, kind: Type) -> str:
        return self.emit("", f"llvm.mlir.zero : {kind.mlir()}")

    def address(self, name: str) -> str:
        if name not in self.module.globals:
            raise self.unsupported(f"the address of {name}")
        made = self.module.globals[name]
        if made.external and made.space != 3:
            raise self.unsupported(f"the variable {name}, which has no content,")
        if made.external and not made.type.size():  # all dynamic shared arrays start at the same place
            name = next((n for n, g in self.used_globals.items() if g.external and not g.type.size()), name)
            made = self.module.globals[name]
        self.used_globals[name] = made
        own = Type("ptr", made.space)
        return self.emit("", f"llvm.mlir.addressof @{symbol(name)} : {own.mlir()}")

    def expression(self, kind: Type, value: Value) -> list[str]:
        """A constant expression, as instructions where it is used."""
        opcode, operands, named = value.of
        made = Instruction(None, opcode, named if opcode == "getelementptr" else kind, list(operands))
        results = [self.fresh() for _ in kind.elements()]
        self.instruction_into(made, results)
        return results
