"""Run the structured form one thread at a time, in plain Python: the oracle of every test of this room.

The kernel's function becomes one Python function (a generator where threads meet), with integers as Python integers,
floats as Python floats rounded to their type after every operation, and memory as lists with every index checked. A
block's threads run one after the other until each has finished or waits; who waits for the same thing goes on together.
Slow and simple on purpose: it shares nothing with the tensor path or the native one but the form itself.
"""
from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ReactantError
from reactant.ir import attributes as attr
from reactant.kernels.form.assertions import KernelFailure
from reactant.kernels.form.form import kernel_of, launch_of, line_of, span_of
from reactant.kernels.form.interpret_operations import EXPRESSIONS, HELPERS, rounded, unsigned, width_of, wrapped

SPECIAL_DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_}


class OutOfBounds(ReactantError, IndexError):
    """A thread accesses memory outside its buffer; names the kernel's line."""

    code = "kernel-out-of-bounds"
    hint = "Launch fewer threads, or guard the access (if i < n)."


def run(module: ir.Module, arguments: Sequence[Any], *, order: str = "forward", uninitialised: float = 0,
        steps: int = 50_000_000) -> None:
    """Launch the kernel of `module` on NumPy arrays (changed in place) and numbers.

    order: in which threads and blocks run between two meetings: "forward", "reverse" or "shuffled". A kernel without
        races gives the same result in each.
    uninitialised: what shared and local memory holds at first.
    Errors: OutOfBounds; ReactantError for barriers that not every thread reaches, and after `steps` meetings.
    """
    function = kernel_of(module)
    grid, block = launch_of(module)
    program = Program(module, function, block)
    values, views = [], []
    for argument, parameter in zip(arguments, function.regions[0].blocks[0].arguments, strict=True):
        if isinstance(parameter.type, ir.MemRefType):
            view = argument.reshape(-1).view(numpy_type(parameter.type.element_type))
            if argument.size and not np.shares_memory(view, argument):
                raise ReactantError("The interpreter needs contiguous arrays.",
                                    hint="The form of kernels is described in docs/kernels.md.",
                                    code="not-interpretable")
            memory = view.tolist()
            views.append((view, memory))
            values.append(memory)
        else:
            values.append(normalised(argument, parameter.type))
    tables = program.tables(module)
    with np.errstate(all="ignore"):
        Launch(program, values, tables, grid, block, order, uninitialised, steps).run()
    for view, memory in views:
        if view.flags.writeable:
            view[:] = memory


def numpy_type(element: ir.Type) -> np.dtype:
    """The NumPy type of a memory element."""
    text = str(element)
    return np.dtype(SPECIAL_DTYPES[text] if text in SPECIAL_DTYPES else f"int{text[1:]}")


def normalised(value: Any, kind: ir.Type) -> Any:
    """A Python number in the interpreter's representation of `kind`: signed integers, i1 as 0 or 1, rounded floats."""
    text = str(kind)
    if text.startswith(("f", "bf")):
        return HELPERS[f"r_{text}"](float(value)) if text != "f64" else float(value)
    if text == "i1":
        return int(bool(value))
    width = 64 if text == "index" else int(text[1:])
    half = 1 << (width - 1)
    return ((int(value) + half) & (2 * half - 1)) - half


class Program:
    """The kernel as a Python function `thread(tid, bid, arguments..., shared..., tables...)`."""

    def __init__(self, module: ir.Module, function: ir.Operation, block: tuple[int, int, int]):
        self.lines: list[str] = []
        self.names: dict[ir.Value, str] = {}
        self.places: list[str] = []
        self.shared: list[tuple[str, int, str]] = []
        self.table_names: dict[str, str] = {}
        self.meets = False
        self.depth = 1
        self.times: list[str] = []
        """The loops around: where each is in the program, and the number of its iteration, as Python."""
        body = function.regions[0].blocks[0]
        arguments = [self.name(a) for a in body.arguments]
        lengths = [f"    n_{n} = len({n})" for n, a in zip(arguments, body.arguments, strict=True)
                   if isinstance(a.type, ir.MemRefType)]
        self.block_ops(body)
        parameters = ["tid", "bid", *arguments, *(n for n, _, _ in self.shared), *self.table_names.values(), "fill"]
        lengths += [f"    n_{n} = {size}" for n, size, _ in self.shared]
        lengths += [f"    n_{n} = len({n})" for n in self.table_names.values()]
        source = "\n".join([f"def thread({', '.join(parameters)}):", *lengths, *self.lines, "    return"])
        self.source = source
        namespace: dict[str, Any] = {**HELPERS, "oob": self.out_of_bounds, "failed": _failed}
        exec(compile(source, "<interpreted kernel>", "exec"), namespace)
        self.thread: Callable[..., Any] = namespace["thread"]

    def tables(self, module: ir.Module) -> list[list[Any]]:
        """Contents of the globals that the kernel reads, in the order of `table_names`."""
        found = {}
        for op in module.body.operations:
            if op.operation.name == "memref.global":
                kind = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
                found[op.attributes["sym_name"].value] = table_values(op.attributes["initial_value"], kind)
        return [found[name] for name in self.table_names]

    def out_of_bounds(self, place: int, index: int, length: int) -> Any:
        raise OutOfBounds(f"A thread of the kernel accesses element {index} of a buffer of {length} elements. "
                          f"{self.places[place]}".strip())

    # -- names and lines

    def name(self, value: ir.Value) -> str:
        if value not in self.names:
            self.names[value] = f"v{len(self.names)}"
        return self.names[value]

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def assign(self, targets: Sequence[str], sources: Sequence[str]) -> None:
        if targets:
            self.emit(f"{', '.join(targets)} = {', '.join(sources)}")

    # -- operations

    def block_ops(self, block: ir.Block) -> None:
        for op in block.operations:
            self.operation(op.operation)

    def operation(self, op: ir.Operation) -> None:
        handler = getattr(self, "op_" + op.name.replace(".", "_"), None)
        if handler is not None:
            handler(op)
        elif op.name in EXPRESSIONS:
            kind = str(op.operands[0].type) if len(op.operands) else ""
            operands = [self.name(v) for v in op.operands]
            result = str(op.results[0].type)
            self.emit(f"{self.name(op.results[0])} = {EXPRESSIONS[op.name](op, operands, kind, result)}")
        else:
            raise ReactantError(f"The interpreter does not know {op.name}.", code="not-interpretable",
                                span=span_of(op))

    def inner(self, block: ir.Block) -> None:
        before = len(self.lines)
        self.depth += 1
        self.block_ops(block)
        if len(self.lines) == before:
            self.emit("pass")
        self.depth -= 1

    def op_arith_constant(self, op: ir.Operation) -> None:
        value = op.attributes["value"]
        result = op.results[0]
        if isinstance(value, ir.FloatAttr):
            self.emit(f"{self.name(result)} = float('{value.value!r}')")
        else:
            number = int(value.value) if not isinstance(value, ir.BoolAttr) else int(value.value)
            self.emit(f"{self.name(result)} = {normalised(number, result.type)}")

    def op_arith_mulsi_extended(self, op: ir.Operation) -> None:
        kind = str(op.operands[0].type)
        low, high = (self.name(r) for r in op.results)
        product = " * ".join(self.name(v) if op.name == "arith.mulsi_extended" else unsigned(self.name(v), kind)
                             for v in op.operands)
        self.emit(f"{high} = {product}")
        self.emit(f"{low}, {high} = {wrapped(high, kind)}, {wrapped(f'{high} >> {width_of(kind)}', kind)}")

    op_arith_mului_extended = op_arith_mulsi_extended

    def op_gpu_thread_id(self, op: ir.Operation) -> None:
        self.emit(f"{self.name(op.results[0])} = tid[{axis_of(op)}]")

    def op_gpu_block_id(self, op: ir.Operation) -> None:
        self.emit(f"{self.name(op.results[0])} = bid[{axis_of(op)}]")

    def op_memref_alloca(self, op: ir.Operation) -> None:
        kind = ir.MemRefType(op.results[0].type)
        name, size = self.name(op.results[0]), kind.shape[0]
        if kind.memory_space is not None:
            self.shared.append((name, size, str(kind.element_type)))
        else:
            self.emit(f"{name} = [fill] * {size}; n_{name} = {size}")

    def op_memref_get_global(self, op: ir.Operation) -> None:
        symbol = ir.FlatSymbolRefAttr(op.attributes["name"]).value
        name = self.table_names.setdefault(symbol, f"table{len(self.table_names)}")
        self.names[op.results[0]] = name

    def checked(self, op: ir.Operation, memory: ir.Value, index: ir.Value) -> tuple[str, str]:
        """(buffer, index) after emitting the bounds check."""
        name, place = self.name(memory), len(self.places)
        self.places.append(line_of(op))
        i = self.name(index)
        self.emit(f"if not 0 <= {i} < n_{name}: oob({place}, {i}, n_{name})")
        return name, i

    def op_memref_load(self, op: ir.Operation) -> None:
        name, i = self.checked(op, op.operands[0], op.operands[1])
        self.emit(f"{self.name(op.results[0])} = {name}[{i}]")

    def op_memref_store(self, op: ir.Operation) -> None:
        name, i = self.checked(op, op.operands[1], op.operands[2])
        self.emit(f"{name}[{i}] = {self.name(op.operands[0])}")

    def op_memref_atomic_rmw(self, op: ir.Operation) -> None:
        name, i = self.checked(op, op.operands[1], op.operands[2])
        old, value = self.name(op.results[0]), self.name(op.operands[0])
        kind = str(op.results[0].type)
        self.emit(f"{old} = {name}[{i}]")
        rmw = ir.IntegerAttr(op.attributes["kind"]).value
        formula = RMW[rmw].format(a=old, b=value, k=kind)
        if rmw in ROUNDED_RMW:
            formula = wrapped(formula, kind) if not kind.startswith(("f", "bf")) else rounded(formula, kind)
        self.emit(f"{name}[{i}] = {formula}")

    def op_memref_generic_atomic_rmw(self, op: ir.Operation) -> None:
        name, i = self.checked(op, op.operands[0], op.operands[1])
        block = op.regions[0].blocks[0]
        old = self.name(block.arguments[0])
        self.names[op.results[0]] = old
        self.emit(f"{old} = {name}[{i}]")
        *body, end = list(block.operations)
        for inner in body:
            self.operation(inner.operation)
        self.emit(f"{name}[{i}] = {self.name(end.operands[0])}")

    def op_scf_if(self, op: ir.Operation) -> None:
        targets = [self.name(r) for r in op.results]
        self.emit(f"if {self.name(op.operands[0])}:")
        self.branch(op.regions[0].blocks[0], targets)
        if len(op.regions[1].blocks):
            self.emit("else:")
            self.branch(op.regions[1].blocks[0], targets)

    def branch(self, block: ir.Block, targets: list[str]) -> None:
        *body, end = list(block.operations)
        self.depth += 1
        for inner in body:
            self.operation(inner.operation)
        self.assign(targets, [self.name(v) for v in end.operands])
        self.emit("pass")
        self.depth -= 1

    def op_scf_index_switch(self, op: ir.Operation) -> None:
        targets = [self.name(r) for r in op.results]
        selector = self.name(op.operands[0])
        for case, region in zip(ir.DenseI64ArrayAttr(op.attributes["cases"]), list(op.regions)[1:], strict=True):
            self.emit(f"if {selector} == {case}:")
            self.branch(region.blocks[0], targets)
            self.emit("else:")
            self.depth += 1
        self.emit("if True:")
        self.branch(op.regions[0].blocks[0], targets)
        self.depth -= len(op.regions) - 1

    def op_scf_for(self, op: ir.Operation) -> None:
        lower, upper, step, *start = [self.name(v) for v in op.operands]
        block = op.regions[0].blocks[0]
        variable, *carried = [self.name(a) for a in block.arguments]
        self.assign(carried, start)
        self.times += [str(len(self.places)), variable]
        self.places.append(line_of(op))
        self.emit(f"for {variable} in range({lower}, {upper}, {step}):")
        self.branch(block, carried)
        del self.times[-2:]
        self.assign([self.name(r) for r in op.results], carried)

    def op_scf_while(self, op: ir.Operation) -> None:
        before, after = (r.blocks[0] for r in op.regions)
        carried = [self.name(a) for a in before.arguments]
        results = [self.name(r) for r in op.results]
        self.assign(carried, [self.name(v) for v in op.operands])
        iteration = f"iteration{len(self.places)}"
        self.times += [str(len(self.places)), iteration]
        self.places.append(line_of(op))
        self.emit(f"{iteration} = 0")
        self.emit("while True:")
        self.depth += 1
        self.emit(f"{iteration} += 1")
        *body, condition = list(before.operations)
        for inner in body:
            self.operation(inner.operation)
        flag, *passed = [self.name(v) for v in condition.operands]
        self.emit(f"if not {flag}:")
        self.depth += 1
        self.assign(results, passed)
        self.emit("break")
        self.depth -= 1
        self.assign([self.name(a) for a in after.arguments], passed)
        *body, end = list(after.operations)
        for inner in body:
            self.operation(inner.operation)
        self.assign(carried, [self.name(v) for v in end.operands])
        self.depth -= 1
        del self.times[-2:]

    def op_func_return(self, op: ir.Operation) -> None:
        if len(op.operands):
            raise ReactantError("A kernel returns nothing.",
                                hint="The form of kernels is described in docs/kernels.md.", code="not-interpretable")

    # -- meetings

    def meet(self, op: ir.Operation, what: str, operands: Sequence[str], targets: Sequence[str]) -> None:
        self.meets = True
        self.places.append(line_of(op))
        time = ", ".join([*self.times, str(len(self.places) - 1)])
        request = f"yield ({what!r}, ({time},), {', '.join(operands)}{',' if operands else ''})"
        self.emit(f"{', '.join(targets)} = {request}" if targets else request)

    def op_gpu_barrier(self, op: ir.Operation) -> None:
        self.meet(op, "barrier", [], [])

    def op_gpu_shuffle(self, op: ir.Operation) -> None:
        mode = attr.enumerator(op.attributes["mode"])
        self.meet(op, f"shuffle.{mode}", [self.name(v) for v in op.operands], [self.name(r) for r in op.results])

    def op_cf_assert(self, op: ir.Operation) -> None:
        message = ir.StringAttr(op.attributes["msg"]).value
        self.emit(f"if not {self.name(op.operands[0])}: failed({message!r})")

    def op_func_call(self, op: ir.Operation) -> None:
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        operands, targets = [self.name(v) for v in op.operands], [self.name(r) for r in op.results]
        if callee.startswith("reactant."):
            self.meet(op, callee.removeprefix("reactant."), operands, targets)
        elif f"c_{callee.removesuffix('f')}" in HELPERS:
            kind = str(op.results[0].type)
            self.emit(f"{targets[0]} = {rounded(f'c_{callee.removesuffix(chr(102))}({chr(44).join(operands)})', kind)}")
        else:
            raise ReactantError(f"The interpreter does not know the function {callee}.",
                                code="not-interpretable", span=span_of(op))


def _failed(message: str) -> None:
    raise KernelFailure(message)


RMW = {0: "{a} + {b}", 1: "{a} + {b}", 2: "{a} & {b}", 3: "{b}", 4: "maximum({a}, {b})", 5: "maxnum({a}, {b})",
       6: "max({a}, {b})", 7: "umax({a}, {b})", 8: "minimum({a}, {b})", 9: "minnum({a}, {b})", 10: "min({a}, {b})",
       11: "umin({a}, {b})", 12: "{a} * {b}", 13: "{a} * {b}", 14: "{a} | {b}", 15: "{a} ^ {b}"}
"""`memref.atomic_rmw` by the number of its kind."""
ROUNDED_RMW = {0, 1, 12, 13}


def axis_of(op: ir.Operation) -> int:
    """0, 1, 2 of a thread or block index."""
    return "xyz".index(attr.enumerator(op.attributes["dimension"]))


def table_values(attribute: ir.Attribute, kind: ir.MemRefType) -> list[Any]:
    """The elements of a global's initial value."""
    count = kind.shape[0]
    if isinstance(attribute, (ir.DenseIntElementsAttr, ir.DenseFPElementsAttr)):
        values = [attribute[0 if attribute.is_splat else i] for i in range(count)]
        return [normalised(v, kind.element_type) for v in values]
    return [0] * count


class Launch:
    """All threads of one launch and what they wait for."""

    def __init__(self, program: Program, values: list[Any], tables: list[list[Any]], grid: tuple[int, int, int],
                 block: tuple[int, int, int], order: str, fill: float, steps: int):
        self.program, self.values, self.tables = program, values, tables
        self.grid, self.block, self.order, self.fill, self.steps = grid, block, order, fill, steps
        self.size = block[0] * block[1] * block[2]

    def ordered(self, items: Sequence[Any]) -> list[Any]:
        items = list(items)
        if self.order == "reverse":
            items.reverse()
        elif self.order == "shuffled":
            random.Random(len(items)).shuffle(items)
        return items

    def run(self) -> None:
        blocks = self.ordered([(x, y, z) for z in range(self.grid[2]) for y in range(self.grid[1])
                               for x in range(self.grid[0])])
        if "'barrier.grid'" in self.program.source:
            self.together(blocks)
        else:
            for bid in blocks:
                self.together([bid])

    def together(self, blocks: Sequence[tuple[int, int, int]]) -> None:
        """Run blocks that may wait for each other."""
        threads: dict[tuple[Any, int], Generator] = {}
        ids = [(x, y, z) for z in range(self.block[2]) for y in range(self.block[1]) for x in range(self.block[0])]
        for bid in blocks:
            shared = [[self.fill] * size for _, size, _ in self.program.shared]
            for number in self.ordered(range(self.size)):
                made = self.program.thread(ids[number], bid, *self.values, *shared, *self.tables, self.fill)
                if self.program.meets:
                    threads[bid, number] = made
        waiting: dict[tuple[Any, int], tuple] = {}
        answers: dict[tuple[Any, int], Any] = dict.fromkeys(threads)
        while answers:
            for key, answer in answers.items():
                try:
                    waiting[key] = threads[key].send(answer)
                except StopIteration:
                    waiting.pop(key, None)
            answers = self.resolve(waiting)
            for key in answers:
                del waiting[key]
            self.steps -= len(answers)
            if self.steps < 0:
                raise ReactantError("The interpreted kernel does not end.",
                                    hint="The form of kernels is described in docs/kernels.md.",
                                    code="not-interpretable")
        if waiting:
            places = sorted({self.program.places[request[1][-1]] for request in waiting.values()})
            raise ReactantError(f"Threads wait for each other at different barriers: {', '.join(places)}",
                                hint="Let all threads of a block reach the same barriers.", code="kernel-barriers")

    def resolve(self, waiting: dict[tuple[Any, int], tuple]) -> dict[tuple[Any, int], Any]:
        """Answers for everyone who may go on: warps first, then blocks, then the grid."""
        warps: dict[Any, dict[tuple, dict[int, tuple]]] = defaultdict(lambda: defaultdict(dict))
        for (bid, number), request in waiting.items():
            if not request[0].startswith("barrier") or request[0] == "barrier.warp":
                warps[bid, number // 32][request[1]][number % 32] = request
        if warps:
            answers = {}
            for (bid, warp), sites in warps.items():
                # Lanes at several operations: who is behind in the order of the program catches up.
                for lane, answer in warp_answers(sites[min(sites)]).items():
                    answers[bid, warp * 32 + lane] = answer
            return answers
        by_block: dict[Any, list[tuple[Any, int]]] = defaultdict(list)
        for key, request in waiting.items():
            if request[0] != "barrier.grid":
                by_block[key[0]].append(key)
        answers = {}
        for bid, keys in by_block.items():
            if len(keys) == sum(other[0] == bid for other in waiting):
                flags = [waiting[k][2] != 0 for k in keys if len(waiting[k]) > 2]
                reduced = {"barrier": None, "barrier.count": sum(flags), "barrier.and": int(all(flags)),
                           "barrier.or": int(any(flags))}
                answers.update({k: reduced[waiting[k][0]] for k in keys})
        return answers if by_block else dict.fromkeys(waiting)


def warp_answers(lanes: dict[int, tuple]) -> dict[int, Any]:
    """What each lane of a warp that waits at one operation gets."""
    what, *mode = next(iter(lanes.values()))[0].split(".")
    present = sum(1 << lane for lane in lanes)
    if what == "shuffle":
        return {lane: shuffled(lane, mode[0], lanes) for lane in lanes}
    if what == "activemask":
        return dict.fromkeys(lanes, signed32(present))
    if what == "barrier":
        return dict.fromkeys(lanes)
    answers = {}
    for lane, request in lanes.items():
        mask, value = request[2] & present, request[3]
        same = [other for other in lanes if mask >> other & 1 and lanes[other][3] == value]
        inside = [other for other in lanes if mask >> other & 1]
        if what == "match":
            agreeing = sum(1 << other for other in same)
            answers[lane] = signed32(agreeing if mode[0] == "any" else (mask if agreeing == mask else 0))
        elif mode[0] == "ballot":
            answers[lane] = signed32(sum(1 << other for other in inside if lanes[other][3]))
        elif mode[0] == "uni":
            answers[lane] = int(len(same) == len(inside))
        else:
            answers[lane] = int((all if mode[0] == "all" else any)(bool(lanes[other][3]) for other in inside))
    return answers


def shuffled(lane: int, mode: str, lanes: dict[int, tuple]) -> tuple[Any, int]:
    """(value, whether the lane read from is in the segment) of `gpu.shuffle`."""
    _, _, value, offset, width = lanes[lane]
    first = lane - lane % width
    source = {"xor": lane ^ offset, "up": lane - offset, "down": lane + offset, "idx": first + offset % width}[mode]
    inside = first <= source < first + width if mode != "xor" else source < first + width
    if not inside:
        return value, 0
    return (lanes[source][2] if source in lanes else type(value)(0), 1)


def signed32(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value
