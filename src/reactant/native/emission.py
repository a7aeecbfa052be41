"""The frame of the translation from MLIR to LLVM IR text: modules, functions, blocks, names, and the table of handlers.

`@emits("arith.addf", ...)` declares who translates an op; `arithmetic`, `mathematics`, `memory`, `control` and
`parallel` hold the handlers. A handler gets the function under construction and the op, and defines the op's results.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any

from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.native import layout, widths
from reactant.records import dataclass

Handler = Callable[["Function", ir.Operation], None]
HANDLERS: dict[str, Handler] = {}

LARGE_LOCAL = 16 * 1024
"""Bytes from which a local array lives on the heap: worker threads have small stacks."""
STACK = 64 * 1024
"""Bytes of all local arrays of a function that live on its stack."""


def emits(*names: str) -> Callable[[Handler], Handler]:
    """Declare the handler of ops."""
    def declare(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = handler
        return handler
    return declare


@dataclass
class Settings:
    """What a caller chooses about the code."""

    threads: bool = True
    contract: bool = False
    """Let a*b+c be one rounding, as a C compiler would; results then differ from NumPy's in the last place."""
    reassociate: bool = False
    """Let sums and products be taken in another order, so that reductions vectorise."""


@dataclass
class Module:
    """The LLVM IR of one native function and of everything it calls."""

    settings: Settings
    symbols: dict[str, ir.Operation]
    """The MLIR module's functions and globals by name."""
    definitions: list[str] = field(default_factory=list)
    declared: dict[str, str] = field(default_factory=dict)
    metadata: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    """What `cf.assert` says, by status - 1."""
    routines: dict[str, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    outlined: int = 0
    checked: bool = False
    """Whether there is a `cf.assert` anywhere."""

    def declare(self, name: str, result: str, arguments: Iterable[str], attributes: str = "nounwind") -> str:
        """Declare an external function once; its LLVM name."""
        text = f"declare {result} @{quoted(name)}({', '.join(arguments)}) {attributes}"
        self.declared.setdefault(name, text.rstrip())
        return "@" + quoted(name)

    def note(self, text: str) -> str:
        """A metadata node; `{self}` in the text is its own name."""
        name = f"!{len(self.metadata)}"
        self.metadata.append(f"{name} = {text.replace('{self}', name)}")
        return name

    def status_of(self, message: str) -> int:
        """The number a failed check reports."""
        if message not in self.messages:
            self.messages.append(message)
        return self.messages.index(message) + 1

    def text(self) -> str:
        """The whole module as LLVM IR."""
        declared = [line for name, line in self.declared.items() if name not in self.routines]
        return "\n\n".join(["\n".join(declared), *self.routines.values(), *self.definitions,
                            "\n".join(self.metadata)]) + "\n"


def quoted(name: str) -> str:
    return name if name.replace("_", "").replace(".", "").isalnum() else f'"{name}"'


class Function:
    """One LLVM function under construction."""

    def __init__(self, module: Module, *, in_task: bool = False) -> None:
        self.module = module
        self.in_task = in_task
        """Inside a parallel task: what is parallel in here runs one after the other."""
        self.outermost = False
        """The parallel loop to come is the one that the task is for."""
        self.values: dict[ir.Value, tuple[str, ...]] = {}
        self.roots: dict[str, str] = {}
        """Pointer -> the pointer to the whole object it was derived from, where nothing else points to that object."""
        self.entry: list[str] = []
        self.body: list[str] = []
        self.cleanup: list[str] = []
        """Instructions to run before every return."""
        self.block = "entry"
        self.result_types: tuple[str, ...] = ()
        self.fails = False
        self.groups: list[str] = []
        """Access groups of the parallel loops around, for loads and stores."""
        self.accesses: list[tuple[bool, str, tuple[ir.Value, ...]]] = []
        """(whether it is a store, root of the pointer or "", indices) of what carries an access group, in order."""
        self.indices: dict[str, tuple[ir.Value, ...]] = {}
        """Pointer to an element -> its indices, in parallel loops."""
        self.widths: widths.Found = {}
        self.private: set[str] = set()
        """Pointers to memory that iterations of a parallel loop around share although each has its own in MLIR."""
        self.place: Any = None
        """Where a GPU thread is in its launch (`place.Place`), in kernels."""
        self.on_stack = 0
        self._names = 0

    # -- writing

    def fresh(self, prefix: str = "t") -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def line(self, text: str) -> None:
        self.body.append("  " + text)

    def let(self, text: str) -> str:
        """Define a name: `%t1 = text`."""
        name = "%" + self.fresh()
        self.body.append(f"  {name} = {text}")
        return name

    def start(self, label: str) -> None:
        self.body.append(f"{label}:")
        self.block = label

    def branch(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch_if(self, condition: str, yes: str, no: str, note: str = "") -> None:
        self.line(f"br i1 {condition}, label %{yes}, label %{no}{note}")

    def reserve(self) -> int:
        """A line to be written later (`phi` instructions)."""
        self.body.append("")
        return len(self.body) - 1

    def call(self, result: str, name: str, arguments: Sequence[tuple[str, str]], flags: str = "") -> str:
        """Call a declared or defined function with (type, operand) pairs."""
        listed = ", ".join(f"{t} {o}" for t, o in arguments)
        return self.let(f"call {flags}{result} {name}({listed})")

    def intrinsic(self, name: str, result: str, arguments: Sequence[tuple[str, str]], flags: str = "") -> str:
        """Call an LLVM intrinsic or a library function without side effects."""
        return self.call(result, self.module.declare(name, result, [t for t, _ in arguments], ""), arguments, flags)

    # -- values

    def operands(self, value: ir.Value) -> tuple[str, ...]:
        return self.values[value]

    def one(self, value: ir.Value) -> str:
        return self.values[value][0]

    def define(self, value: ir.Value, *operands: str) -> None:
        self.values[value] = operands

    def memory(self, value: ir.Value) -> layout.Memory:
        return layout.memory_of(value.type, self.values[value])

    def allocate(self, llvm_type: str, count: int, align: int = 64) -> str:
        """Memory of the function's own, for as long as it runs."""
        name = "%" + self.fresh("local")
        nbytes = count * layout.nbytes(llvm_type)
        self.on_stack += nbytes if nbytes <= LARGE_LOCAL else 0
        if nbytes > LARGE_LOCAL or self.on_stack > STACK:
            # at whole lines of the cache, as vectors are: each other one would lie across two
            self.entry.append(f"  {name} = call noalias align {align} ptr "
                              f"{self.module.declare('aligned_alloc', 'ptr', ['i64', 'i64'])}"
                              f"(i64 {align}, i64 {-(-nbytes // align) * align})")
            self.cleanup.append(f"call void {self.module.declare('free', 'void', ['ptr'])}(ptr {name})")
        else:
            self.entry.append(f"  {name} = alloca [{max(count, 1)} x {llvm_type}], align {align}")
        return name

    # -- code

    def emit(self, op: ir.Operation) -> None:
        """Translate one op."""
        handler = HANDLERS.get(op.name)
        if handler is None:
            raise UnsupportedError(f"native code has no {op.name} (at {op.location}).")
        handler(self, op)

    def enter_loop(self, op: ir.Operation) -> None:
        """A loop begins (functions whose callers count turns do something here)."""

    def next_turn(self, op: ir.Operation) -> None:
        """At the start of every turn of a loop."""

    def leave_loop(self, op: ir.Operation) -> None:
        """A loop has been translated."""

    def emit_block(self, block: ir.Block) -> ir.Operation:
        """Translate a block's ops; its terminator, which is left to the caller."""
        operations = [op.operation for op in block.operations]
        for op in operations[:-1]:
            self.emit(op)
        return operations[-1]

    def leave(self, operands: Sequence[str]) -> None:
        """Return from the function."""
        for line in self.cleanup:
            self.line(line)
        if not self.result_types:
            self.line("ret void")
        elif len(self.result_types) == 1:
            self.line(f"ret {self.result_types[0]} {operands[0]}")
        else:
            struct, made = self.result_struct(), "undef"
            for i, (type_, operand) in enumerate(zip(self.result_types, operands, strict=True)):
                made = self.let(f"insertvalue {struct} {made}, {type_} {operand}, {i}")
            self.line(f"ret {struct} {made}")

    def result_struct(self) -> str:
        if not self.result_types:
            return "void"
        return self.result_types[0] if len(self.result_types) == 1 else "{ " + ", ".join(self.result_types) + " }"

    def finished(self, signature: str) -> str:
        """The function's text. Early exits of failed checks return zeros."""
        if self.fails:
            self.start("failed")
            for line in self.cleanup:
                self.line(line)
            struct = self.result_struct()
            self.line("ret void" if struct == "void" else f"ret {struct} zeroinitializer")
        return "\n".join([f"define {signature} {{", "entry:", *self.entry, "  br label %start", *self.body, "}"])
