"""Write kernels in structured form (`reactant.kernels.form.form`) from Python: operators build MLIR text."""
from __future__ import annotations

import numpy as np

DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "i8": np.int8}
WORKGROUP = "#gpu.address_space<workgroup>"


class Value:
    """An SSA value: arithmetic by Python's operators, numbers become constants of its type."""

    def __init__(self, kernel, name, type_):
        self.kernel, self.name, self.type = kernel, name, type_

    def _binary(self, other, op, swap=False):
        other = self.kernel.value(other, self.type)
        x, y = (other, self) if swap else (self, other)
        return self.kernel.op(f"arith.{op} {x.name}, {y.name} : {self.type}", self.type)

    def _arithmetic(self, other, name, swap=False):
        return self._binary(other, name + ("f" if self.type[0] == "f" else "i"), swap)

    def __add__(self, other):
        return self._arithmetic(other, "add")

    def __radd__(self, other):
        return self._arithmetic(other, "add", True)

    def __sub__(self, other):
        return self._arithmetic(other, "sub")

    def __rsub__(self, other):
        return self._arithmetic(other, "sub", True)

    def __mul__(self, other):
        return self._arithmetic(other, "mul")

    def __rmul__(self, other):
        return self._arithmetic(other, "mul", True)

    def __truediv__(self, other):
        return self._binary(other, "divf")

    def __floordiv__(self, other):
        return self._binary(other, "divsi")

    def __mod__(self, other):
        return self._binary(other, "remsi")

    def __and__(self, other):
        return self._binary(other, "andi")

    def __or__(self, other):
        return self._binary(other, "ori")

    def __xor__(self, other):
        return self._binary(other, "xori")

    def __rshift__(self, other):
        return self._binary(other, "shrsi")

    def __lshift__(self, other):
        return self._binary(other, "shli")

    def _compare(self, other, integers, floats):
        other = self.kernel.value(other, self.type)
        name, predicate = ("cmpf", floats) if self.type[0] == "f" else ("cmpi", integers)
        return self.kernel.op(f"arith.{name} {predicate}, {self.name}, {other.name} : {self.type}", "i1")

    def __lt__(self, other):
        return self._compare(other, "slt", "olt")

    def __le__(self, other):
        return self._compare(other, "sle", "ole")

    def __gt__(self, other):
        return self._compare(other, "sgt", "ogt")

    def __ge__(self, other):
        return self._compare(other, "sge", "oge")

    def equals(self, other):
        return self._compare(other, "eq", "oeq")

    def differs(self, other):
        return self._compare(other, "ne", "une")

    def minimum(self, other):
        return self._binary(other, "minimumf" if self.type[0] == "f" else "minsi")

    def maximum(self, other):
        return self._binary(other, "maximumf" if self.type[0] == "f" else "maxsi")

    def math(self, name):
        return self.kernel.op(f"math.{name} {self.name} : {self.type}", self.type)

    def index(self):
        return self.to("index")

    def to(self, type_):
        if type_ == self.type:
            return self
        integer = self.type[0] == "i"
        if "index" in (type_, self.type):
            name = "index_cast"
        elif integer and type_[0] == "i":
            name = "extsi" if int(type_[1:]) > int(self.type[1:]) else "trunci"
        else:
            name = "sitofp" if integer else "fptosi" if type_[0] == "i" else (
                "extf" if type_ == "f64" else "truncf")
        return self.kernel.op(f"arith.{name} {self.name} : {self.type} to {type_}", type_)

    def select(self, x, y):
        like = x if isinstance(x, Value) else y
        x, y = (self.kernel.value(v, like.type) for v in (x, y))
        return self.kernel.op(f"arith.select {self.name}, {x.name}, {y.name} : {x.type}", x.type)


class Array:
    """Memory: `a[i]` loads, `a[i] = v` stores."""

    def __init__(self, kernel, name, element, type_):
        self.kernel, self.name, self.element, self.type = kernel, name, element, type_

    def __getitem__(self, index):
        index = self.kernel.value(index, "index")
        return self.kernel.op(f"memref.load {self.name}[{index.name}] : {self.type}", self.element)

    def __setitem__(self, index, value):
        index, value = self.kernel.value(index, "index"), self.kernel.value(value, self.element)
        self.kernel.line(f"memref.store {value.name}, {self.name}[{index.name}] : {self.type}")

    def atomic(self, kind, index, value):
        index, value = self.kernel.value(index, "index"), self.kernel.value(value, self.element)
        return self.kernel.op(f"memref.atomic_rmw {kind} {value.name}, {self.name}[{index.name}] : "
                              f"({self.element}, {self.type}) -> {self.element}", self.element)


class Kernel:
    """A kernel being written. `text()` is its module."""

    def __init__(self, grid=(1, 1, 1), block=(1, 1, 1)):
        self.grid, self.block = ((*g, 1, 1)[:3] if isinstance(g, tuple) else (g, 1, 1) for g in (grid, block))
        self.lines, self.top, self.arguments, self.globals, self.count = [], [], [], [], 0
        self.loose = {}

    def line(self, text):
        self.lines.append(text)

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def op(self, text, type_):
        name = self.fresh()
        self.line(f"{name} = {text}")
        return Value(self, name, type_)

    def value(self, x, type_):
        if isinstance(x, Value):
            assert x.type == type_, (x.type, type_)
            return x
        if type_[0] == "f":
            return self.op(f"arith.constant {float(x)!r} : {type_}", type_)
        return self.op(f"arith.constant {int(x)} : {type_}" if type_ != "i1" else
                       f"arith.constant {'true' if x else 'false'}", type_)

    def array(self, name, element, shape, hint=True):
        shape = shape if isinstance(shape, tuple) else (shape,)
        note = f", reactant.shape = array<i64: {', '.join(map(str, shape))}>" if hint else ""
        self.arguments.append(f'%{name}: memref<?x{element}> {{reactant.name = "{name}", reactant.elements = '
                              f'{int(np.prod(shape))} : i64{note}}}')
        return Array(self, f"%{name}", element, f"memref<?x{element}>")

    def number(self, name, type_):
        self.arguments.append(f'%{name}: {type_} {{reactant.name = "{name}"}}')
        return Value(self, f"%{name}", type_)

    def _memory(self, element, size, shape, space):
        name = self.fresh()
        note = f" {{reactant.shape = array<i64: {', '.join(map(str, shape))}>}}" if shape else ""
        type_ = f"memref<{size}x{element}{space}>"
        self.top.append(f"{name} = memref.alloca(){note} : {type_}")
        return Array(self, name, element, type_)

    def shared(self, element, size, shape=None):
        return self._memory(element, size, shape, f", {WORKGROUP}")

    def local(self, element, size, shape=None):
        return self._memory(element, size, shape, "")

    def table(self, element, numbers):
        name, out = f"table{len(self.globals)}", self.fresh()
        type_ = f"memref<{len(numbers)}x{element}>"
        body = ", ".join(str(float(n) if element[0] == "f" else int(n)) for n in numbers)
        self.globals.append(f"memref.global \"private\" constant @{name} : {type_} = dense<[{body}]>")
        self.top.append(f"{out} = memref.get_global @{name} : {type_}")
        return Array(self, out, element, type_)

    def thread(self, d="x"):
        return self.op(f"gpu.thread_id {d}", "index")

    def block_id(self, d="x"):
        return self.op(f"gpu.block_id {d}", "index")

    def at(self, d="x"):
        """The global index in a dimension."""
        return self.block_id(d) * self.block["xyz".index(d)] + self.thread(d)

    def barrier(self):
        self.line("gpu.barrier")

    def shuffle(self, mode, x, offset, width=32):
        offset = offset.to("i32") if isinstance(offset, Value) else offset
        offset, width = self.value(offset, "i32"), self.value(width, "i32")
        a, b = self.fresh(), self.fresh()
        self.line(f"{a}, {b} = gpu.shuffle {mode} {x.name}, {offset.name}, {width.name} : {x.type}")
        return Value(self, a, x.type)

    def call(self, name, operands, result):
        types = ", ".join(v.type for v in operands)
        self.loose[name] = f"func.func private @{name}({types})" + (f" -> {result}" if result else "")
        text = f"func.call @{name}({', '.join(v.name for v in operands)}) : ({types}) -> ({result or ''})"
        if result:
            return self.op(text, result)
        self.line(text)
        return None

    def body(self, function, arguments=(), end="scf.yield"):
        """Run a function between braces; what it returned."""
        found = function(*arguments)
        found = [] if found is None else list(found) if isinstance(found, (list, tuple)) else [found]
        return found

    def _passed(self, values, types, end="scf.yield"):
        values = [self.value(v, t) for v, t in zip(values, types, strict=True)]
        if values:
            self.line(f"{end} {', '.join(v.name for v in values)} : {', '.join(types)}")

    def if_(self, condition, then, otherwise=None, types=()):
        """`scf.if`; with `types`, both functions give values."""
        names = [self.fresh() for _ in types]
        head = f"{', '.join(names)} = " if names else ""
        self.line(f"{head}scf.if {condition.name}{f' -> ({chr(44).join(types)})' if types else ''} {{")
        found = self.body(then)
        self._passed(found if types else [], types)
        if otherwise is not None:
            self.line("} else {")
            found = self.body(otherwise)
            self._passed(found if types else [], types)
        self.line("}")
        found = [Value(self, n, t) for n, t in zip(names, types, strict=True)]
        return found[0] if len(found) == 1 else found

    def for_(self, low, high, body, step=1, inits=()):
        """`scf.for`: `body(i, *carried)` gives the carried values."""
        low, high, step = (self.value(v, "index") for v in (low, high, step))
        names, arguments, i = [self.fresh() for _ in inits], [self.fresh() for _ in inits], self.fresh()
        types = [v.type for v in inits]
        carried = ", ".join(f"{a} = {v.name}" for a, v in zip(arguments, inits, strict=True))
        head = f"{', '.join(names)} = " if names else ""
        tail = f" iter_args({carried}) -> ({', '.join(types)})" if names else ""
        self.line(f"{head}scf.for {i} = {low.name} to {high.name} step {step.name}{tail} {{")
        given = [Value(self, a, t) for a, t in zip(arguments, types, strict=True)]
        found = self.body(body, (Value(self, i, "index"), *given))
        self._passed(found if types else [], types)
        self.line("}")
        found = [Value(self, n, t) for n, t in zip(names, types, strict=True)]
        return found[0] if len(found) == 1 else found

    def while_(self, inits, condition, body):
        """`scf.while`: `condition(*carried)`, `body(*carried)`; the carried values after it."""
        types = [v.type for v in inits]
        names = [self.fresh() for _ in inits]
        first, second = [self.fresh() for _ in inits], [self.fresh() for _ in inits]
        signature = f"({', '.join(types)}) -> ({', '.join(types)})"
        begins = ", ".join(f"{a} = {v.name}" for a, v in zip(first, inits, strict=True))
        self.line(f"{', '.join(names)} = scf.while ({begins}) : {signature} {{")
        given = [Value(self, a, t) for a, t in zip(first, types, strict=True)]
        going = condition(*given)
        self.line(f"scf.condition({going.name}) {', '.join(first)} : {', '.join(types)}")
        self.line("} do {")
        self.line(f"^bb0({', '.join(f'{a}: {t}' for a, t in zip(second, types, strict=True))}):")
        given = [Value(self, a, t) for a, t in zip(second, types, strict=True)]
        self._passed(self.body(body, given), types)
        self.line("}")
        found = [Value(self, n, t) for n, t in zip(names, types, strict=True)]
        return found[0] if len(found) == 1 else found

    def text(self):
        grid, block = (", ".join(map(str, g)) for g in (self.grid, self.block))
        newline = "\n"
        return f"""module {{
{newline.join([*self.globals, *self.loose.values()])}
func.func @kernel({', '.join(self.arguments)}) attributes {{gpu.kernel, reactant.grid = array<i64: {grid}>,
    reactant.block = array<i64: {block}>}} {{
{newline.join([*self.top, *self.lines])}
return
}}
}}"""
