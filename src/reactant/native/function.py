"""`compile`: a `func.func` over memrefs becomes a `NativeFunction`, callable from XLA programs and with NumPy
arrays.
"""
from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ReactantError
from reactant.ir import attributes as attr
from reactant.ir import context, modules, types
from reactant.native import (  # noqa: F401 - the handlers
    arithmetic,
    blas,
    bounds,
    clocks,
    control,
    coroutine,
    crowds,
    emission,
    engine,
    kernel,
    lapack,
    layout,
    mathematics,
    meeting,
    memory,
    numpy_extremes,
    numpy_partitions,
    numpy_sorts,
    objects,
    parallel,
    red_zones,
    support,
    workspace,
)
from reactant.native.argument import Argument, NativeError

ROLES = ("in", "out", "inout")
WORKSPACE = "workspace"
"""In the configuration of a call: the bytes that it works in, which XLA does not know of."""
_PACKED = (np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4))
"""Tensors of these have no bytes of their own for an element."""


_compiled: dict[str, NativeFunction] = {}
_lock = threading.RLock()


def compile(module: ir.Module | ir.Operation | ir.OpView | str, function: str | None = None, *,
            roles: Sequence[str] | None = None, threads: bool = True, contract: bool = False,
            reassociate: bool = False, distinct: bool = True, worked_in: int = 0, where: str = "") -> NativeFunction:
    """Compile a function of an MLIR module (or its text) in the common form for this processor.

    function: which `func.func`; the first public one when not named.
    roles: per argument "in" (read), "out" (written, never read before) or "inout"; found from the loads and stores when
        None (then an argument that is stored to is "inout").
    threads: whether `scf.parallel` may run on several threads.
    contract: whether a*b+c may be rounded once.
    reassociate: whether sums may be taken in another order.
    distinct: whether no two array arguments overlap; then loops vectorise without run-time tests.
    worked_in: how many arguments, the last ones, are memory to work in that no caller gives (`native.workspace`).
    where: what the function is made of, in words; checked code (`native.bounds`) says it where it fails.

    The same text and settings give the same object. Raises `UnsupportedError` for ops outside the common form.
    """
    with context.building():
        if isinstance(module, str):
            module = modules.parse(module)
        top = module.operation if not isinstance(module, ir.Operation) else module
        symbols = _symbols(top)
        name, op = _chosen(symbols, function)
        chosen = _arguments(op, roles)
        settings = emission.Settings(threads, contract, reassociate, bounds.wanted())
        key, text = _key(top, name, settings, chosen, distinct, worked_in, where * settings.bounds)
        with _lock, bounds.writing(settings.bounds):
            if key not in _compiled:
                made = emission.Module(settings, symbols)
                made.checked = any(o.name == "cf.assert" for o in modules.walk(top))
                written_out = crowds.note_crowds(op)
                inner, given = control.emit_function(made, op, [distinct] * len(chosen)), len(chosen) - worked_in
                _compiled[key] = NativeFunction(name, key, chosen[:given], *_with_entry(
                    made, op, chosen[:given], inner, [_bytes_of(a) for a in chosen[given:]]), made.buffers, where,
                    made.sites)
                _compiled[key].seconds = engine.seconds(_compiled[key].as_llvm(), written_out)
                if top.name == "builtin.module":
                    _compiled[key].source = text, {
                        "roles": [a.role for a in chosen], "threads": threads, "contract": contract,
                        "reassociate": reassociate, "distinct": distinct, "worked_in": worked_in, "where": where}
            return _compiled[key]


def compile_kernel(module: ir.Module | ir.Operation | ir.OpView | str, function: str | None = None, *,
                   grid: Sequence[int] | None = None, block: Sequence[int] | None = None,
                   roles: Sequence[str] | None = None, threads: bool = True, contract: bool = False,
                   coroutines: bool = False, where: str = "") -> NativeFunction:
    """Compile one launch of a GPU kernel: a `func.func` that is one thread (see `reactant.native`).

    grid, block: sizes of the launch, one to three each; attributes `reactant.grid`, `reactant.block` where None.
    coroutines: run threads that meet as coroutines even where the kernel could be cut at the meetings.
    Other arguments as those of `compile`. No two array arguments overlap.
    """
    with context.building():
        if isinstance(module, str):
            module = modules.parse(module)
        top = module.operation if not isinstance(module, ir.Operation) else module
        symbols = _symbols(top)
        name, op = _chosen(symbols, function)
        chosen = _arguments(op, roles)
        launch = kernel.launch_of(op, grid, block)
        settings = emission.Settings(threads, contract, bounds=bounds.wanted())
        key, _ = _key(top, name, settings, chosen, ("kernel", launch.grid, launch.block, coroutines),
                      where * settings.bounds)
        with _lock, bounds.writing(settings.bounds):
            if key not in _compiled:
                made = emission.Module(settings, symbols)
                made.checked = any(o.name == "cf.assert" for o in modules.walk(top))
                _compiled[key] = NativeFunction(name, key, chosen, *_with_entry(
                    made, op, chosen, kernel.emit_launch(made, launch, coroutines)), made.buffers, where)
            return _compiled[key]


def of_target(name: str) -> NativeFunction | None:
    """The function that XLA programs call by this name."""
    found = _compiled.get(name.rpartition(".")[2])
    return found if found is not None and found.target == name else None


def _key(top: ir.Operation, name: str, *more: object) -> tuple[str, str]:
    """What tells a function from others, and the text of its module."""
    text = modules.to_text(top, large_elements=None)
    told = "\n".join([text, name, *map(repr, more), engine.fingerprint()])
    return hashlib.sha256(told.encode()).hexdigest()[:24], text


def _symbols(top: ir.Operation) -> dict[str, ir.Operation]:
    if top.name != "builtin.module":
        return {ir.StringAttr(top.attributes["sym_name"]).value: top}
    return {ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation
            for op in top.regions[0].blocks[0].operations if "sym_name" in op.operation.attributes}


def _chosen(symbols: Mapping[str, ir.Operation], function: str | None) -> tuple[str, ir.Operation]:
    for name, op in symbols.items():
        visibility = op.attributes["sym_visibility"] if "sym_visibility" in op.attributes else None
        private = visibility is not None and ir.StringAttr(visibility).value == "private"
        if op.name == "func.func" and len(op.regions[0].blocks) and (name == function if function else not private):
            return name, op
    raise ReactantError(f"The module has no function {'@' + function if function else 'with a body'} to compile.",
                        code="native-function")


def _arguments(op: ir.Operation, roles: Sequence[str] | None) -> tuple[Argument, ...]:
    values = list(op.regions[0].blocks[0].arguments)
    if ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).results:
        raise ReactantError("A native function writes its results into memref arguments and returns nothing.",
                            code="native-function")
    if roles is None:
        written = _written(op, values)
        roles = ["inout" if i in written else "in" for i in range(len(values))]
    if len(roles) != len(values) or not set(roles) <= set(ROLES):
        raise ReactantError(f"roles are one of {', '.join(ROLES)} for each of the {len(values)} arguments; got "
                            f"{roles}.", code="native-function")
    made = []
    for value, role in zip(values, roles, strict=True):
        if not layout.is_memref(value.type):
            if role != "in":
                raise ReactantError(f"A number cannot be {role}.", code="native-function")
            made.append(Argument(layout.dtype_of(value.type), None, role))
            continue
        place = layout.memory(value.type)
        if len([s for s in place.shape if s is None]) > (1 if len(place.shape) == 1 else 0) or not _dense(place):
            raise ReactantError(f"Array arguments are dense and of static shape, or memref<?xT>; got {value.type}.",
                                code="native-function")
        made.append(Argument(layout.dtype_of(place.element), place.shape, role))
    return tuple(made)


def _dense(place: layout.MemoryLayout) -> bool:
    step = 1
    for extent, stride in zip(reversed(place.shape), reversed(place.strides), strict=True):
        if stride != step:
            return False
        step *= extent if extent is not None else 1
    return True


_READERS = frozenset(("memref.load", "memref.dim", "memref.rank"))
_VIEWS = frozenset(("memref.cast", "memref.subview", "memref.reinterpret_cast", "memref.collapse_shape",
                    "memref.expand_shape", "memref.view", "memref.memory_space_cast", "memref.assume_alignment"))


def _written(op: ir.Operation, values: list[ir.Value]) -> set[int]:
    """Which arguments are stored to, or used in a way that is not known to only read."""
    found: set[int] = set()

    def writes(value: ir.Value) -> bool:
        for use in value.uses:
            user = use.owner.operation
            if user.name in _READERS:
                continue
            if user.name in _VIEWS:
                if writes(user.results[0]):
                    return True
                continue
            if user.name == "memref.copy" and use.operand_number == 0:
                continue
            return True
        return False
    for i, value in enumerate(values):
        if layout.is_memref(value.type) and writes(value):
            found.add(i)
    return found


def _bytes_of(argument: Argument) -> int:
    """Bytes of an array of static shape."""
    if argument.size is None or argument.shape is None:
        raise NativeError(f"Memory to work in has a static shape; got {argument}.")
    return argument.size * argument.dtype.itemsize


def _with_entry(module: emission.Module, op: ir.Operation, chosen: tuple[Argument, ...], inner: str,
                worked_in: Sequence[int] = ()) -> tuple[str, list[str], int]:
    """LLVM IR with an entry `@entry(runtime, pointers, counts)` that calls `inner`, the messages of its checks, and the
    bytes it works in. worked_in: bytes of the last arguments of `inner`, which the entry gets from `workspace`."""
    lines, listed = [], ["ptr %rt"]
    values = list(op.regions[0].blocks[0].arguments)
    for i, (argument, value) in enumerate(zip(chosen, values[:len(chosen)], strict=True)):
        lines += [f"  %p{i} = getelementptr ptr, ptr %pointers, i64 {i}", f"  %d{i} = load ptr, ptr %p{i}"]
        if argument.shape is None:
            kind, register = layout.in_memory(value.type), layout.scalar(value.type)
            lines.append(f"  %v{i} = load {kind}, ptr %d{i}")
            if register == "i1":
                lines.append(f"  %b{i} = icmp ne i8 %v{i}, 0")
            listed.append(f"{register} %{'b' if register == 'i1' else 'v'}{i}")
            continue
        listed += [f"ptr %d{i}", *_limits(lines, module, f"%d{i}", _count_of(lines, i, argument.dtype.itemsize),
                                          f"argument {i} ({argument})")]
        if None in argument.shape:
            lines += [f"  %q{i} = getelementptr i64, ptr %counts, i64 {i}", f"  %n{i} = load i64, ptr %q{i}"]
            listed.append(f"i64 %n{i}")
    places, nbytes = workspace.places(list(worked_in), bounds.ZONE * module.settings.bounds)
    after: list[str] = []
    if worked_in:
        status = module.status_of(f"There is no memory for the {nbytes:,} bytes that a native function works in.")
        lines += [f"  %block = call ptr @reactant.take(i64 {nbytes})", "  %none = icmp eq ptr %block, null",
                  "  br i1 %none, label %refused, label %work",
                  "refused:", f"  store i32 {status}, ptr %rt", "  ret void",
                  "work:", "  %begin = call ptr @reactant.begin(ptr %block)"]
        for k, place in enumerate(places):
            lines.append(f"  %w{k} = getelementptr i8, ptr %begin, i64 {place}")
            listed += [f"ptr %w{k}", *_limits(lines, module, f"%w{k}", str(worked_in[k]), f"workspace {k}")]
        if module.settings.bounds:
            after = _with_zones(lines, module, places, worked_in)
        after.append("  call void @reactant.give(ptr %block)")
        module.definitions.append(workspace.DECLARED)
    module.definitions.append("\n".join([
        "define void @entry(ptr %rt, ptr %pointers, ptr %counts) #0 {", *lines,
        f"  call void {inner}({', '.join(listed)})", *after, "  ret void", "}"]))
    module.definitions.append(f"attributes #0 = {{ {engine.attributes()} }}")
    return module.text(), module.messages, nbytes


def _count_of(lines: list[str], index: int, itemsize: int) -> str:
    """The bytes of an argument as the caller tells them; nothing where nobody asks."""
    if not bounds.active():
        return ""
    lines += [f"  %cp{index} = getelementptr i64, ptr %counts, i64 {index}", f"  %c{index} = load i64, ptr %cp{index}",
              f"  %cb{index} = mul i64 %c{index}, {itemsize}"]
    return f"%cb{index}"


def _limits(lines: list[str], module: emission.Module, pointer: str, nbytes: str, name: str) -> list[str]:
    """The bounds of a buffer that the entry hands in, in checked code."""
    if not bounds.active():
        return []
    mark = pointer[1:]
    lines += [f"  %b.{mark} = ptrtoint ptr {pointer} to i64", f"  %e.{mark} = add i64 %b.{mark}, {nbytes}"]
    return [f"i64 %b.{mark}", f"i64 %e.{mark}", f"i64 {module.buffer_of(name)}"]


def _with_zones(lines: list[str], module: emission.Module, places: Sequence[int], sizes: Sequence[int]) -> list[str]:
    """Fill the bytes behind each piece of the workspace; the lines that look at them again."""
    after = []
    for k, (place, size) in enumerate(zip(places, sizes, strict=True)):
        status = module.status_of(f"Something wrote behind workspace {k}, which has {size} bytes.")
        lines += [f"  %z{k} = getelementptr i8, ptr %begin, i64 {place + size}",
                  f"  call void @reactant.fill(ptr %z{k})"]
        after.append(f"  call void @reactant.look(ptr %rt, ptr %z{k}, i32 {status})")
    return after


class NativeFunction:
    """Machine code of one function, and the ways to call it.

    name: of the MLIR function. target: what XLA programs call it by. arguments: what it takes, in order.
    workspace: bytes that it works in and that no caller gives. seconds: what LLVM will take for it, roughly. source:
    the text of the module and the arguments of `compile` that it is made of, where it can be made otherwise.
    """

    seconds = 0.0
    source: tuple[str, dict[str, Any]] | None = None

    def __init__(self, name: str, key: str, arguments: tuple[Argument, ...], text: str, messages: list[str],
                 workspace: int = 0, buffers: Sequence[str] = (), where: str = "", sites: Sequence[int] = ()) -> None:
        self.name, self.arguments, self.messages, self.workspace = name, arguments, list(messages), workspace
        self.where, self._buffers, self.sites = where, list(buffers), tuple(sites)
        self.checked = f"@{bounds.FAILURE} " in text
        self.target = f"reactant.native.{name}.{key}"
        self._text = text
        self._loading = threading.Lock()
        self._addresses: dict[str, int] | None = None

    # -- looking at it

    def as_llvm(self, optimized: bool = False) -> str:
        """LLVM IR as translated, or after LLVM's optimisations."""
        return engine.optimised(self._text) if optimized else self._text

    def as_assembly(self) -> str:
        """Assembly of this processor."""
        return engine.assembly(self._text)

    def __repr__(self) -> str:
        return f"<NativeFunction {self.name}({', '.join(map(str, self.arguments))})>"

    @property
    def threaded(self) -> bool:
        """Whether it divides work among the threads of an XLA program, if one calls it."""
        return "@reactant.parallel(" in self._text

    # -- operands and results, in the order of the arguments

    @cached_property
    def operands(self) -> tuple[int, ...]:
        """The arguments that an XLA program hands in: all but "out"."""
        return tuple(i for i, a in enumerate(self.arguments) if a.role != "out")

    @cached_property
    def results(self) -> tuple[int, ...]:
        """The arguments an XLA program gets back: all but "in"."""
        return tuple(i for i, a in enumerate(self.arguments) if a.role != "in")

    # -- in XLA programs

    def custom_call(self, operands: Sequence[ir.Value], result_types: Sequence[ir.Type] | None = None,
                    kept: Collection[int] = ()) -> list[ir.Value]:
        """Build the `stablehlo.custom_call` at the current insertion point.

        operands: tensors for the "in" and "inout" arguments in order. Any shape and type of as many bytes will do, and
            memref<?xT> has as many elements as fit the tensor's bytes: a complex number is two floats.
        result_types: of the "out" and "inout" arguments in order; may be left out where every "out" has a static shape.

        kept: operands that the program may not write over, as its own arguments: native code copies them where the
            results lie. XLA's way is a copy of the operand and one of the result.

        XLA writes "inout" results over their operands where nobody reads the old value later, and copies otherwise.
        """
        self.register()
        if len(operands) != len(self.operands):
            raise NativeError(f"{self!r} takes {len(self.operands)} operands; got {len(operands)}.")
        for index, operand in zip(self.operands, operands, strict=True):
            self._check_bytes(index, operand.type)
        if result_types is None:
            result_types = [self._result_type(i, operands) for i in self.results]
        for index, type_ in zip(self.results, result_types, strict=True):
            self._check_bytes(index, type_)
        aliases = {p: operand for p, i in enumerate(self.results) if self.arguments[i].role == "inout"
                   and (operand := self.operands.index(i)) not in kept}
        attributes = {
            "call_target_name": attr.string(self.target), "has_side_effect": attr.boolean(False),
            "api_version": attr.integer(4, 32), "backend_config": ir.DictAttr.get(
                {WORKSPACE: attr.integer(self.workspace, 64)} if self.workspace else {}),
            "operand_layouts": attr.row_major([o.type for o in operands]),
            "result_layouts": attr.row_major(result_types),
            "output_operand_aliases": attr.aliases(len(self.results), aliases)}
        op = ir.Operation.create("stablehlo.custom_call", results=list(result_types), operands=list(operands),
                                 attributes=attributes)
        return list(op.results)

    def _check_bytes(self, index: int, type_: ir.Type) -> None:
        """Raises where a tensor's bytes are not those of an argument."""
        argument, (shape, dtype) = self.arguments[index], types.shape_and_dtype(type_)
        have = types.size(shape) * dtype.itemsize
        if dtype in _PACKED or (have % argument.dtype.itemsize if argument.size is None
                                else have != argument.size * argument.dtype.itemsize):
            raise NativeError(f"Argument {index} of {self!r} cannot be a {type_}: {have} bytes.")

    def _result_type(self, index: int, operands: Sequence[ir.Value]) -> ir.Type:
        argument = self.arguments[index]
        if argument.role == "inout":
            return operands[self.operands.index(index)].type
        if argument.size is None:
            raise NativeError(f"Result {index} of {self!r} has no static shape.", hint="Give result_types.")
        return types.tensor_type(argument.shape, argument.dtype)

    def register(self) -> str:
        """Load the code and make it known to XLA; the name that `custom_call` uses."""
        handler = self._load()["handler"]
        if self.checked and not objects.is_registered(self.target):
            handler = red_zones.guarded(handler, str(self), self._explained)
        objects.register(self.target, handler)
        return self.target

    def _load(self) -> dict[str, int]:
        with self._loading:
            if self._addresses is None:
                common = support.addresses()
                if "@reactant.meet(" in self._text:
                    common = common | meeting.addresses()
                if self.workspace:
                    common = common | workspace.addresses()
                if f"@{numpy_sorts.PREFIX}" in self._text:
                    common = common | numpy_sorts.addresses()
                if f"@{numpy_extremes.PREFIX}" in self._text:
                    common = common | numpy_extremes.addresses()
                if f"@{numpy_partitions.PREFIX}" in self._text:
                    common = common | numpy_partitions.addresses()
                if f"@{blas.PREFIX}" in self._text:
                    common = common | blas.addresses()
                if f"@{lapack.PREFIX}" in self._text:
                    common = common | lapack.addresses()
                self._addresses = engine.load(self._text + self._handler(), self.target,
                                              ("entry", "handler", *[bounds.FAILURE] * self.checked,
                                               *[clocks.NUMBERS] * bool(self.sites)), common)
            return self._addresses

    def measured(self, again: bool = False) -> dict[int, clocks.Counted]:
        """What its sites have counted (`native.clocks`). again: begin at 0 now."""
        if not self.sites:
            return {}
        address = self._load()[clocks.NUMBERS]
        found = dict(zip(self.sites, clocks.read(address, len(self.sites)), strict=True))
        if again:
            clocks.clear(address, len(self.sites))
        return found

    def _explained(self, message: str) -> str:
        """What a failed check says, with what is known of an access outside its buffer."""
        if not self.checked:
            return message
        failure = (ctypes.c_int64 * bounds.FIELDS).from_address(self._load()[bounds.FAILURE])
        if not failure[0]:
            return message
        told = bounds.told(message, list(failure), self._buffers)
        failure[0] = 0
        return f"{told} In {self!r}{', ' if self.where else ''}{self.where}."

    def _handler(self) -> str:
        """The handler XLA calls: `reactant.handle` with this function's description."""
        rows = []
        for i, argument in enumerate(self.arguments):
            operand = self.operands.index(i) if i in self.operands else -1
            result = self.results.index(i) if i in self.results else -1
            rows.append(f"{{ i32, i32, i64 }} {{ i32 {operand}, i32 {result}, i64 {argument.dtype.itemsize} }}")
        lines = ["", f"@slots = internal constant [{len(rows)} x {{ i32, i32, i64 }}] [{', '.join(rows)}]"]
        for i, message in enumerate(self.messages):
            raw = message.encode() + b"\0"
            listed = "".join(f"\\{byte:02X}" for byte in raw)
            lines.append(f'@message.{i} = internal constant [{len(raw)} x i8] c"{listed}"')
        names = ", ".join(f"ptr @message.{i}" for i in range(len(self.messages)))
        lines += [f"@messages = internal constant [{len(self.messages)} x ptr] [{names}]",
                  f"@description = internal constant {support.DESCRIPTION} {{ i64 {len(rows)}, "
                  f"i64 {len(self.operands)}, i64 {len(self.results)}, ptr @entry, ptr @slots, "
                  f"i64 {len(self.messages)}, ptr @messages }}",
                  "declare ptr @reactant.handle(ptr, ptr)",
                  "define ptr @handler(ptr %frame) #0 {",
                  "  %error = call ptr @reactant.handle(ptr %frame, ptr @description)", "  ret ptr %error", "}"]
        return "\n".join(lines) + "\n"

    # -- with NumPy arrays

    def __call__(self, *arguments: Any) -> None:
        """Run with NumPy arrays, which "out" and "inout" arguments are written into, and numbers.

        Runs in the calling thread. Raises `NativeError` where a check fails or an argument does not fit.
        """
        if len(arguments) != len(self.arguments):
            raise NativeError(f"{self!r} takes {len(self.arguments)} arguments; got {len(arguments)}.")
        arrays = [self._checked(i, a) for i, a in enumerate(arguments)]
        count = max(len(arrays), 1)
        pointers = (ctypes.c_void_p * count)(*(a.ctypes.data for a in arrays))
        counts = (ctypes.c_int64 * count)(*(a.size for a in arrays))
        runtime = (ctypes.c_int64 * (support.RUNTIME_BYTES // 8))()
        runtime[support.THREADS // 8] = 1
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        entry: Callable = kind(self.entry())
        entry(ctypes.addressof(runtime), ctypes.addressof(pointers), ctypes.addressof(counts))
        if status := runtime[0] & 0xFFFFFFFF:
            raise self.failure(status)

    def entry(self) -> int:
        """The address of `(runtime, pointers, counts)`: `native.support` says what these point to."""
        return self._load()["entry"]

    def failure(self, status: int) -> NativeError:
        """What a call raises that has left this status."""
        return NativeError(self._explained(self.messages[status - 1]), code="native-check")

    def _checked(self, index: int, given: Any) -> np.ndarray:
        argument = self.arguments[index]
        if argument.shape is None:
            return np.asarray(given, argument.dtype)
        if not isinstance(given, np.ndarray) or given.dtype != argument.dtype:
            raise NativeError(f"Argument {index} of {self!r} is an array of {argument.dtype}; got "
                              f"{getattr(given, 'dtype', type(given))}.")
        if argument.size is not None and given.size != argument.size:
            raise NativeError(f"Argument {index} of {self!r} has {argument.size} elements; got {given.size}.")
        flags = given.flags
        if not flags.c_contiguous or not flags.aligned or argument.role != "in" and not flags.writeable:
            raise NativeError(f"Argument {index} of {self!r} is a contiguous, "
                              f"aligned{'' if argument.role == 'in' else ' and writeable'} array.")
        return given
