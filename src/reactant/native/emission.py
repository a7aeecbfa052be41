"""The frame of the translation from MLIR to LLVM IR text: modules, functions, blocks, names, and the table of handlers.

`@emits("arith.addf", ...)` declares who translates an op; `arithmetic`, `mathematics`, `memory`, `control` and
`parallel` hold the handlers. A handler gets the function under construction and the op, and defines the op's results.
"""
from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.native import bounds, clocks, layout, roots, widths
from reactant.native.refusals import refused
from reactant.native.sections import Section, sections
from reactant.support import foreign
from reactant.support.records import dataclass

Handler = Callable[["Function", ir.Operation], None]
HANDLERS: dict[str, Handler] = {}

NOTE = re.compile(r"!\d+")
"""The name of a metadata node."""
LARGE_LOCAL = 16 * 1024
"""Bytes from which a local array lives on the heap: worker threads have small stacks."""
STACK = 64 * 1024
"""Bytes of all local arrays of a function that live on its stack."""


def emits(*names: str) -> Callable[[Handler], Handler]:
    """Declare the handler of ops."""
    def declare(handler: Handler) -> Handler:
        foreign.note()
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
    bounds: bool = False
    """Compare every access with the bounds of its buffer (`bounds`)."""


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
    buffers: list[str] = field(default_factory=list)
    """What checked code knows buffers by."""
    routines: dict[str, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    outlined: int = 0
    texts: dict[str, int] = field(default_factory=dict)
    """Outlined functions by what they say."""
    checked: bool = False
    """Whether there is a `cf.assert` anywhere."""
    sites: list[int] = field(default_factory=list)
    """What is clocked (`clocks`), in the order of its numbers."""

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

    def outline(self, prefix: str, text: str) -> tuple[int, bool]:
        """Define an internal function `@prefix.number`; its number, and whether there was none that says the same.
        In its text it is called `@NAME`."""
        key = prefix + self._without_notes(text)
        known = self.texts.get(key)
        if known is not None:
            return known, False
        self.outlined += 1
        self.texts[key] = self.outlined
        self.definitions.append(text.replace("@NAME", f"@{prefix}.{self.outlined}", 1))
        return self.outlined, True

    def _without_notes(self, text: str) -> str:
        """A text with what its metadata say, whatever the numbers of their nodes are."""
        order: dict[str, int] = {}

        def renamed(found: re.Match[str]) -> str:
            return f"!n{order.setdefault(found[0], len(order))}"
        parts, done = [NOTE.sub(renamed, text)], 0
        while done < len(order):
            name = next(itertools.islice(order, done, None))
            parts.append(NOTE.sub(renamed, self.metadata[int(name[1:])]))
            done += 1
        return "\n".join(parts)

    def status_of(self, message: str) -> int:
        """The number a failed check reports."""
        if message not in self.messages:
            self.messages.append(message)
        return self.messages.index(message) + 1

    def buffer_of(self, name: str) -> int:
        """The number that checked code knows a buffer by."""
        if name not in self.buffers:
            self.buffers.append(name)
        return self.buffers.index(name)

    def clock(self, site: int) -> int:
        """The place of a site's numbers."""
        if site not in self.sites:
            self.sites.append(site)
        return self.sites.index(site)

    def text(self) -> str:
        """The whole module as LLVM IR."""
        declared = [line for name, line in self.declared.items() if name not in self.routines]
        routines = [*[bounds.ROUTINES] * self.settings.bounds, *self.routines.values(),
                    *[clocks.numbers(len(self.sites))] * bool(self.sites)]
        return "\n\n".join(["\n".join(declared), *routines, *self.definitions, "\n".join(self.metadata)]) + "\n"


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
        self.exchanges: dict[str, roots.Exchange] = {}
        """Of such pointers, those that change places in a loop."""
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
            raise refused(f"has no {op.name}", op)
        handler(self, op)

    def enter_loop(self, op: ir.Operation) -> None:
        """A loop begins (functions whose callers count iterations do something here)."""

    def next_iteration(self, op: ir.Operation) -> None:
        """At the start of every iteration of a loop."""

    def leave_loop(self, op: ir.Operation) -> None:
        """A loop has been translated."""

    def emit_block(self, block: ir.Block) -> ir.Operation:
        """Translate a block's ops; its terminator, which is left to the caller."""
        *operations, end = [op.operation for op in block.operations]
        for section in sections(operations, end) if self.place is None and not self.groups else [Section(operations)]:
            if section.results is None:
                for op in section.ops:
                    self.emit(op)
            else:
                self.emit_section(section.ops, section.results)
        return end

    def emit_section(self, ops: Sequence[ir.Operation], results: Sequence[ir.Value]) -> None:
        """Translate ops, of which others use `results`, as a function of their own."""
        inside = Function(self.module, in_task=self.in_task)
        inside.outermost = self.outermost
        inner = [each for op in ops for each in (op, *modules.walk(op))]
        parameters, handed = hand_over(self, inside, captured(self, inner))
        inside.result_types = flat_types(results)
        inside.start("start")
        for op in ops:
            inside.emit(op)
        inside.leave(flat(inside, results))
        number, _ = self.module.outline("section", inside.finished(
            f"internal {inside.result_struct()} @NAME({', '.join(['ptr %rt', *parameters])}) noinline #0"))
        self.call_ours(f"@section.{number}", handed, results)

    def call_ours(self, name: str, arguments: Sequence[tuple[str, str]], results: Sequence[ir.Value]) -> None:
        """Call a function of this module with the runtime and (type, operand) pairs, and define what it gives."""
        types = flat_types(results)
        struct = struct_of(types)
        listed = ", ".join(f"{t} {o}" for t, o in [("ptr", "%rt"), *arguments])
        called = f"call {struct} {name}({listed})"
        if not types:
            self.line(called)
        else:
            made = self.let(called)
            pieces = [made] if len(types) == 1 else [self.let(f"extractvalue {struct} {made}, {i}")
                                                     for i in range(len(types))]
            define_all(self, results, pieces)
        self.leave_if_failed()

    def leave_if_failed(self) -> None:
        """After a call or a parallel loop: leave too when a check in there failed."""
        if not self.module.checked:
            return
        on = self.fresh("on")
        status = self.let("load atomic i32, ptr %rt monotonic, align 4")
        self.branch_if(self.let(f"icmp eq i32 {status}, 0"), on, "failed")
        self.fails = True
        self.start(on)

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
        return struct_of(self.result_types)

    def finished(self, signature: str) -> str:
        """The function's text. Early exits of failed checks return zeros."""
        if self.fails:
            self.start("failed")
            for line in self.cleanup:
                self.line(line)
            struct = self.result_struct()
            self.line("ret void" if struct == "void" else f"ret {struct} zeroinitializer")
        return "\n".join([f"define {signature} {{", "entry:", *self.entry, "  br label %start", *self.body, "}"])


def flat(f: Function, values: Sequence[ir.Value]) -> tuple[str, ...]:
    """The parts of several values in a row."""
    return tuple(part for v in values for part in f.operands(v))


def flat_types(values: Sequence[ir.Value]) -> tuple[str, ...]:
    return tuple(part for v in values for part in layout.parts(v.type))


def define_all(f: Function, values: Sequence[ir.Value], operands: Sequence[str]) -> None:
    """Hand a row of parts out to several values."""
    at = 0
    for value in values:
        width = len(layout.parts(value.type))
        f.define(value, *operands[at:at + width])
        at += width


def struct_of(types: Sequence[str]) -> str:
    """The type of what gives values of some types: one of them, or a struct."""
    return "void" if not types else types[0] if len(types) == 1 else "{ " + ", ".join(types) + " }"


def captured(f: Function, ops: Iterable[ir.Operation]) -> list[ir.Value]:
    """Values of a function that some ops of it use, in order of use."""
    return list({value: None for op in ops for value in op.operands if value in f.values})


def hand_over(f: Function, inside: Function, values: Sequence[ir.Value]) -> tuple[list[str], list[tuple[str, str]]]:
    """Define values of a function in one that it calls: the parameters of that one, and (type, operand) of what it is
    called with."""
    operands, types = flat(f, values), flat_types(values)
    objects = [f.roots.get(o) if t == "ptr" else None for t, o in zip(types, operands, strict=True)]
    pointers = [i for i, t in enumerate(types) if t == "ptr" and operands[i][0] == "%"]
    # a pointer from anywhere (out of an `if`, say) may point into any object
    known = all(objects[i] is not None for i in pointers)
    parameters: list[str] = []
    handed: list[tuple[str, str]] = []
    names: list[str] = []
    for i, (type_, operand) in enumerate(zip(types, operands, strict=True)):
        if operand[0] != "%":
            names.append(operand)
            continue
        alone = known and i in pointers and not any(roots.meet(f, objects[i], objects[k]) for k in pointers if k != i)
        names.append(f"%c{i}")
        if alone:
            inside.roots[names[-1]] = names[-1]
        parameters.append(f"{type_}{' noalias' if alone else ''} %c{i}")
        handed.append((type_, operand))
    define_all(inside, values, names)
    return parameters, handed
