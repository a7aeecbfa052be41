"""A call of a host function as one differentiable function of its arguments, from what was recorded of it.

    def replayed(a0, s0, g0, g1, ...):
        m0 = np.zeros(1000)                     # an allocation
        m0[0:1000] = a0[0:1000]                 # cudaMemcpy to the device, of an argument
        x0 = g0 + g1 * (s0 - g2)                # what the host computed, by its tape: linear about the recorded point
        sequence0(m0, m1, x0)                   # launches
        l2 = m1[0:8].copy()                     # cudaMemcpy to the host
        return ...

a0... and s0... are the arguments that derivatives are by, g0... what was recorded: the same function serves every call
that launches the same.
"""
from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from reactant.cuda import rows, sequences
from reactant.cuda.building import Built
from reactant.cuda.recorder import Entry
from reactant.cuda.rows import Allocated, Box, Copied, Filled, Launched, Looked, SymbolWritten, Touched
from reactant.cuda.sequences import Writer
from reactant.cuda.steps import Float, LaunchStep, Record, Step, View
from reactant.cuda.tapes import Tape, Terms, byte_of, range_of
from reactant.errors import NotDifferentiable
from reactant.kernels.ways_in.module_source import SourceKernel


@dataclass
class Leaves:
    """A range of leaves: the array that it is in the function, and what was recorded of it (flat)."""

    name: str
    recorded: np.ndarray


@dataclass
class Memory:
    """An allocation in the function."""

    name: str
    bytes: int
    dtype: np.dtype | None = None


@dataclass
class Replay:
    """Builds the function. place: the source line of a launch. leaves: by the number of the range, the arguments'
    first."""

    built: Built
    place: Callable[[Launched], str]
    tape: Tape
    leaves: dict[int, Leaves]
    lines: list[str] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)
    space: dict[str, Any] = field(default_factory=lambda: {"np": np})
    keys: list[tuple] = field(default_factory=list)
    memories: dict[int, Memory] = field(default_factory=dict)
    waiting: list[Step] = field(default_factory=list)
    _count: int = 0
    _current: dict[int, tuple[int, int]] = field(default_factory=dict)      # base -> (serial, bytes)
    _variables: dict[str, str] = field(default_factory=dict)

    # ---- the log ----

    def play(self, log: Sequence[Entry]) -> None:
        """All that was done. Raises `NotDifferentiable`."""
        for entry in log:
            if isinstance(entry.row, Launched) and not isinstance(entry.step, LaunchStep):
                raise self.refused(entry.row, str(entry.step))
        self._choose_types(log)
        self._current.clear()
        self._count = 0
        for entry in log:
            row = entry.row
            if isinstance(row, Allocated):
                self._allocate(row)
            elif isinstance(row, Launched):
                self._launch(row, entry)
            elif isinstance(row, Copied):
                self._copy(row, entry)
            elif isinstance(row, Filled):
                self._fill(row)
            elif isinstance(row, Looked):
                self._look(row, entry)
            elif isinstance(row, SymbolWritten):
                self._symbol(row, entry)
            elif isinstance(row, Touched):
                raise NotDifferentiable("The host, or a library that it calls, works on the device's memory itself.",
                                        hint="Write that as a kernel, or differentiate what is before and behind it.")
        self._flush()

    def _choose_types(self, log: Sequence[Entry]) -> None:
        """Each allocation is an array of what the first launch takes it for; those that are only copied, of the same as
        what they are copied from or to."""
        pairs: list[tuple[int, int]] = []
        given: list[tuple[int, np.dtype]] = []
        for entry in log:
            row = entry.row
            if isinstance(row, Allocated):
                if row.kind == rows.MANAGED:
                    raise NotDifferentiable("The function uses managed memory (cudaMallocManaged), which host and "
                                            "device may both change at any time.",
                                            hint="Use cudaMalloc and cudaMemcpy in what is differentiated.")
                self._count += 1
                self._current[row.base] = self._count, row.bytes
                self.memories[self._count] = Memory(f"m{self._count}", row.bytes)
            elif isinstance(entry.step, LaunchStep):
                for view in entry.step.views:
                    memory = self.memories[self._serial(view.base)]
                    memory.dtype = memory.dtype or view.root
            elif isinstance(row, Copied) and row.host == 0:
                pairs.append((self._of(row.target), self._of(row.source)))
            elif isinstance(row, Copied) and entry.runs is not None and len(entry.runs):
                given.append((self._of(row.target), self._dtype_of(entry.runs[0])))
        for serial, dtype in given:         # of what no kernel takes
            self.memories[serial].dtype = self.memories[serial].dtype or dtype
        for one, other in [*pairs, *reversed(pairs)]:
            known = self.memories[one].dtype or self.memories[other].dtype
            self.memories[one].dtype = self.memories[one].dtype or known
            self.memories[other].dtype = self.memories[other].dtype or known

    def _dtype_of(self, run: Any) -> np.dtype:
        """What a number of the host is, by its identity."""
        if run["size"] > 1:
            return np.dtype(f"f{run['size']}")
        leaves = self.leaves.get(range_of(int(run["identity"])))
        return np.dtype(np.uint8) if leaves is None else leaves.recorded.dtype

    def _serial(self, base: int) -> int:
        if base not in self._current:
            raise NotDifferentiable("The function uses memory that was allocated before it was called.",
                                    hint="Allocate and free in the function that is differentiated.")
        return self._current[base][0]

    def _of(self, box: Box) -> int:
        return self._found(box)[0]

    def _found(self, box: Box) -> tuple[int, int]:
        """(the serial of the allocation that a box is in, where it begins there)."""
        for base, (serial, size) in self._current.items():
            if base <= box.start and box.end <= base + size:
                return serial, box.start - base
        raise NotDifferentiable("The function copies memory that was allocated before it was called.",
                                hint="Allocate and free in the function that is differentiated.")

    def _allocate(self, row: Allocated) -> None:
        self._count += 1
        self._current[row.base] = self._count, row.bytes
        memory = self.memories[self._count]
        dtype = memory.dtype = memory.dtype or np.dtype(np.uint8)
        kind = self.constant(dtype)
        self._flush()
        self.lines.append(f"{memory.name} = np.zeros({-(-row.bytes // dtype.itemsize)}, {kind})")

    # ---- launches ----

    def _launch(self, row: Launched, entry: Entry) -> None:
        step = entry.step
        assert isinstance(step, LaunchStep)
        active = {int(r["offset"]): int(r["identity"]) for r in entry.runs} if entry.runs is not None else {}

        def own(argument: Any, offset: int) -> Any:
            if isinstance(argument, tuple):
                return tuple(own(a, -1) for a in argument)
            if isinstance(argument, View):
                return self._view(argument, row)
            if isinstance(argument, Float):
                return replace(argument, identity=active.pop(offset, 0))
            return argument
        arguments = tuple(own(a, offset) for a, (offset, _) in zip(step.arguments, row.parameters, strict=True))
        if active:
            raise self.refused(row, "a struct that it gets by value holds a number to differentiate by",
                               "Give the kernel that number as an argument of its own.")
        if any(isinstance(a, Record) and not a.dtype.names for a in arguments):
            raise self.refused(row, "it gets a struct by value whose members are not known")
        self.waiting.append(replace(step, arguments=arguments, launch=replace(step.launch, lower="tensor")))
        kernel = self.built.kernel(step.kernel)
        assert isinstance(kernel, SourceKernel)
        self.sites.setdefault(kernel.name, self.place(row))

    sites: dict[str, str] = field(default_factory=dict)
    """A line that launches each kernel."""

    def _view(self, view: View, row: Launched) -> View:
        serial = self._serial(view.base)
        memory = self.memories[serial]
        assert memory.dtype is not None
        if view.offset % memory.dtype.itemsize or memory.bytes % memory.dtype.itemsize:
            raise self.refused(row, f"it takes memory as {view.dtype} that other launches take as {memory.dtype}")
        return replace(view, base=serial, root=memory.dtype)

    def refused(self, row: Launched, reason: str, cure: str = "") -> NotDifferentiable:
        kernel = self.built.kernel(row.kernel)
        name = row.kernel if isinstance(kernel, str) else kernel.name
        return NotDifferentiable(f"The launch of '{name}' at {self.place(row) or 'a line that is not known'} has no "
                                 f"derivative: {reason}.",
                                 hint=cure or "Kernels over global memory that they take by pointers are tensor "
                                              "programs; what is not to be differentiated can be done before the call.")

    def _flush(self) -> None:
        """The steps that wait, as a function of their own."""
        waiting, self.waiting = self.waiting, []
        if not waiting:
            return
        writer = Writer(self._kernel)
        written = writer.written(sequences.repeated(waiting))
        name = f"sequence{len(self.keys)}"
        self.space[name] = written.function()
        self.keys.append(written.key())
        values = [self._numbers(np.atleast_1d(v), ids, np.ndim(v) == 0)
                  for v, ids in zip(written.values, written.identities, strict=True)]
        memories = [self.memories[serial].name for serial in written.roots]
        variables = [self._variable(symbol) for symbol in written.variables]
        self.lines.append(f"{name}({', '.join([*memories, *values, *variables])})")

    def _kernel(self, symbol: str) -> SourceKernel:
        found = self.built.kernel(symbol)
        assert isinstance(found, SourceKernel)
        return found

    # ---- copies ----

    def _part(self, memory: Memory, start: int, size: int) -> str:
        assert memory.dtype is not None
        step = memory.dtype.itemsize
        if start % step or size % step:
            raise NotDifferentiable(f"The function copies parts of elements of {memory.dtype}.",
                                    hint="Copy whole numbers in what is differentiated.")
        return f"{memory.name}[{start // step}:{(start + size) // step}]"

    def _boxed(self, box: Box) -> list[tuple[int, int]]:
        """(start, bytes) of the pieces of a box that are in one piece."""
        if box.in_one_piece:
            return [(box.start, box.bytes)]
        return [(box.start + z * box.slice + y * box.pitch, box.width) for z in range(box.depth)
                for y in range(box.height)]

    def _copy(self, row: Copied, entry: Entry) -> None:
        self._flush()
        serial, _ = self._found(row.target)
        memory = self.memories[serial]
        base = next(b for b, (s, _) in self._current.items() if s == serial)
        targets = self._boxed(row.target)
        if row.host == 0:
            other, _ = self._found(row.source)
            start = next(b for b, (s, _) in self._current.items() if s == other)
            sources = self._boxed(row.source)
            if len(targets) != len(sources):
                width = min(t[1] for t in (targets[0], sources[0]))
                targets, sources = _cut(targets, width), _cut(sources, width)
            if self.memories[other].dtype != memory.dtype:
                raise NotDifferentiable("The function copies memory that kernels take as "
                                        f"{self.memories[other].dtype} to memory that they take as {memory.dtype}.")
            for (to, size), (source, _) in zip(targets, sources, strict=True):
                copied = self._part(self.memories[other], source - start, size)
                self.lines.append(f"{self._part(memory, to - base, size)} = {copied}.copy()")
            return
        at = 0
        for to, size in targets:
            runs = _within(entry.runs, at, size)
            value = self._content(entry.content[at:at + size], runs, memory.dtype)
            self.lines.append(f"{self._part(memory, to - base, size)} = {value}")
            at += size

    def _fill(self, row: Filled) -> None:
        self._flush()
        serial, start = self._found(row.target)
        memory = self.memories[serial]
        assert memory.dtype is not None
        pattern = row.value.to_bytes(4, "little")[:row.element]
        for at, size in self._boxed(row.target):
            content = np.resize(np.frombuffer(pattern, np.uint8), size)
            value = self._given(np.frombuffer(content.tobytes(), memory.dtype))
            self.lines.append(f"{self._part(memory, start + at - row.target.start, size)} = {value}")

    def _look(self, row: Looked, entry: Entry) -> None:
        self._flush()
        serial, start = self._found(row.source)
        memory = self.memories[serial]
        assert memory.dtype is not None
        number, at = row.range, 0
        pieces = self._boxed(row.source)
        for piece, size in pieces:
            name = f"l{number}"
            self.lines.append(f"{name} = {self._part(memory, start + piece - row.source.start, size)}.copy()")
            self.leaves[number] = Leaves(name, np.frombuffer(entry.content[at:at + size], memory.dtype))
            number, at = number + 1, at + size

    def _symbol(self, row: SymbolWritten, entry: Entry) -> None:
        self._flush()
        for _, module in self.built.modules:
            if not isinstance(module, str) and row.symbol in module.variables:
                dtype = module.variables[row.symbol].dtype.base
                name = self._flat(row.symbol)
                value = self._content(entry.content, entry.runs, dtype)
                first, end = row.offset // dtype.itemsize, (row.offset + row.bytes) // dtype.itemsize
                self.lines.append(f"{name}[{first}:{end}] = {value}")

    def _flat(self, symbol: str) -> str:
        """The `__constant__` variable as a flat array."""
        if symbol not in self._variables:
            module, variable = self._module_of(symbol)
            self._variables[symbol] = name = f"v{len(self._variables)}"
            self.lines.append(f"{name} = {self._given(module.value(variable).reshape(-1).copy())}.copy()")
        return self._variables[symbol]

    def _variable(self, symbol: str) -> str:
        _, variable = self._module_of(symbol)
        return f"{self._flat(symbol)}.reshape({variable.dtype.shape})"

    def _module_of(self, symbol: str) -> Any:
        return next((m, m.variables[symbol]) for _, m in self.built.modules
                    if not isinstance(m, str) and symbol in m.variables)

    # ---- numbers of the host ----

    def _content(self, content: bytes, runs: Any, dtype: np.dtype | None) -> str:
        """What the host has in a piece of memory, as an array of a dtype."""
        assert dtype is not None
        recorded = np.frombuffer(content, dtype)
        if runs is None or len(runs) == 0:
            return self._given(recorded)
        whole = self._whole(runs, len(content), dtype)
        if whole:
            return whole
        identities = np.zeros(len(recorded), np.uint64)
        for run in runs:
            size = dtype.itemsize if run["size"] == 1 else int(run["size"])
            if dtype.kind != "f" or size != dtype.itemsize or run["offset"] % size:
                raise NotDifferentiable(f"The host has numbers of {size} bytes that depend on what is differentiated "
                                        f"by where it copies {dtype} to the device.",
                                        hint="Copy them as what they are.")
            first = int(run["offset"]) // size
            count = int(run["count"]) // size if run["size"] == 1 else 1
            identities[first:first + count] = run["identity"] + np.arange(count, dtype=np.uint64) * np.uint64(size)
        return self._numbers(recorded, identities.tolist(), False)

    def _whole(self, runs: Any, size: int, dtype: np.dtype) -> str:
        """Leaves of one range in their order, where it is nothing else."""
        run = runs[0]
        if len(runs) != 1 or run["size"] != 1 or run["offset"] != 0 or int(run["count"]) != size:
            return ""
        leaves = self._leaves(range_of(int(run["identity"])))
        first = byte_of(int(run["identity"]))
        if leaves.recorded.dtype != dtype or first % dtype.itemsize:
            return ""
        return f"{leaves.name}[{first // dtype.itemsize}:{(first + size) // dtype.itemsize}]"

    def _leaves(self, number: int) -> Leaves:
        if number not in self.leaves:
            raise NotDifferentiable("The host uses what a copy gave it that is not a part of the function's record.")
        return self.leaves[number]

    def _numbers(self, recorded: np.ndarray, identities: Sequence[int], scalar: bool) -> str:
        """Numbers that the host computed: what was recorded, and linear in their leaves."""
        name = self._given(recorded)
        terms = self.tape.terms(identities)
        if terms:
            total = f"t{len(self.lines)}"
            self.lines.append(f"{total} = {name}.astype({self.constant(np.dtype(np.float64))})")
            for term in terms:
                self.lines.append(f"{total} = {total} + {self._term(term, len(recorded))}")
            self.lines.append(f"{total} = {total}.astype({self.constant(recorded.dtype)})")
            name = total
        return f"{name}[0]" if scalar else name

    def _term(self, term: Terms, count: int) -> str:
        leaves = self._leaves(term.range)
        size = leaves.recorded.dtype.itemsize
        if leaves.recorded.dtype.kind != "f" or np.any(term.bytes % size):
            raise NotDifferentiable(f"The host takes memory of {leaves.recorded.dtype} for numbers of another type.")
        places = term.bytes // size
        moved = f"({leaves.name}[{self._given(places)}] - {self._given(leaves.recorded[places])})"
        weighted = f"{self._given(term.weights)} * {moved}"
        if count == 1:
            return f"np.sum({weighted})"
        if len(term.rows) == count and np.array_equal(term.rows, np.arange(count)):
            return weighted
        sums = f"s{len(self.lines)}"
        self.lines.append(f"{sums} = np.zeros({count})")
        self.lines.append(f"np.add.at({sums}, {self._given(term.rows)}, {weighted})")
        return sums

    def _given(self, value: np.ndarray) -> str:
        self.given.append(np.array(value))
        return f"g{len(self.given) - 1}"

    def constant(self, dtype: np.dtype) -> str:
        name = f"{dtype.kind}{dtype.itemsize}_{dtype.name}" if dtype.names is None else f"record{len(self.space)}"
        name = "".join(c if c.isalnum() else "_" for c in name)
        self.space[name] = dtype
        return name

    # ---- the function ----

    def finished(self, result: str, arguments: Sequence[str]) -> tuple[tuple, Callable]:
        """(what the function is known by, the function)."""
        names = [*arguments, *(f"g{k}" for k in range(len(self.given)))]
        body = "".join(f"    {line}\n" for line in [*self.lines, f"return {result}"])
        text = f"def replayed({', '.join(names)}):\n{body}"

        def function() -> Callable:
            file = f"<replayed {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
            linecache.cache[file] = (len(text), None, text.splitlines(True), file)
            space: dict[str, Any] = {**self.space, "__name__": "replayed"}
            exec(compile(text, file, "exec"), space)
            return space["replayed"]
        types = tuple((k, str(v)) for k, v in self.space.items() if isinstance(v, np.dtype))
        return (text, types, *self.keys), function


def _within(runs: Any, start: int, size: int) -> Any:
    """The runs of a part."""
    if runs is None:
        return None
    found = runs[(runs["offset"] >= start) & (runs["offset"] < start + size)].copy()
    found["offset"] -= np.uint64(start)
    return found


def _cut(pieces: list[tuple[int, int]], width: int) -> list[tuple[int, int]]:
    return [(start + at, width) for start, size in pieces for at in range(0, size, width)]
