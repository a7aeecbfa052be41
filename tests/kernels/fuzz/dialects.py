"""The two languages that random kernels are written in: how each statement and expression is spelt."""
from __future__ import annotations

from collections.abc import Sequence

WEIGHTS = (0.5, 1.0, -2.0, 4.0, 0.25)
"""A constant table of every program."""


class Python:
    """Numba-CUDA."""

    name = "numba"
    true_division = False
    comment = "#"

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    # -- expressions

    def both(self, a: str, b: str) -> str:
        return f"({a} and {b})"

    def either(self, a: str, b: str) -> str:
        return f"({a} or {b})"

    def negation(self, a: str) -> str:
        return f"(not {a})"

    def select(self, condition: str, a: str, b: str) -> str:
        return f"({a} if {condition} else {b})"

    def divide(self, a: str, b: int) -> str:
        return f"({a} // {b})"

    def whole(self, a: str) -> str:
        return f"int({a})"

    def real(self, a: str) -> str:
        return f"float({a})"

    def smaller(self, a: str, b: str) -> str:
        return f"min({a}, {b})"

    def larger(self, a: str, b: str) -> str:
        return f"max({a}, {b})"

    def magnitude(self, a: str, kind: str) -> str:
        return f"abs({a})"

    def element(self, array: str, indices: Sequence[str], shape: Sequence[int]) -> str:
        return f"{array}[{', '.join(indices)}]"

    def loaded(self, text: str, kind: str) -> str:
        return f"np.int64({text})" if kind == "int" else f"np.float64({text})"

    def call(self, function: str, arguments: Sequence[str]) -> str:
        return f"{function}({', '.join(arguments)})"

    def mathematics(self, function: str, a: str) -> str:
        return f"math.{function}({a})"

    # -- statements

    def declare(self, name: str, value: str, kind: str) -> None:
        self.line(f"{name} = {value}")

    assign_kind = declare

    def assign(self, name: str, value: str) -> None:
        self.line(f"{name} = {value}")

    def store(self, place: str, value: str, dtype: str) -> None:
        self.line(f"{place} = {value}" if dtype.startswith("float") else f"{place} = np.int64({value})")

    def exchange(self, a: str, b: str, kind: str) -> None:
        self.line(f"{a}, {b} = {b}, {a}")

    def open_if(self, condition: str) -> None:
        self.line(f"if {condition}:")
        self.depth += 1

    def open_else(self, condition: str | None = None) -> None:
        self.depth -= 1
        self.line("else:" if condition is None else f"elif {condition}:")
        self.depth += 1

    def open_for(self, name: str, low: str, high: str, step: int) -> None:
        """Counts from low up to high, or with a negative step from high - 1 down to low."""
        if step > 0:
            self.line(f"for {name} in range({low}, {high}{f', {step}' if step != 1 else ''}):")
        else:
            self.line(f"for {name} in range({high} - 1, {low} - 1, {step}):")
        self.depth += 1

    def open_while(self, condition: str) -> None:
        self.line(f"while {condition}:")
        self.depth += 1

    def close(self) -> None:
        if self.lines[-1].endswith(":"):
            self.line("pass")
        self.depth -= 1

    def leave(self, word: str) -> None:
        self.line(word)

    def choose(self, value: str, cases: int) -> list[str | None]:
        """Conditions of the cases of a choice; opened by `open_if` and `open_else`."""
        return [*(f"{value} == {k}" for k in range(cases - 1)), None]

    def barrier(self) -> None:
        self.line("cuda.syncthreads()")

    def shared(self, name: str, shape: Sequence[int], dtype: str, dynamic: bool) -> None:
        size = 0 if dynamic else shape[0] if len(shape) == 1 else tuple(shape)
        self.line(f"{name} = cuda.shared.array({size}, {dtype})")

    def local(self, name: str, size: int, dtype: str) -> None:
        self.line(f"{name} = cuda.local.array({size}, {dtype})")

    def atomic(self, operation: str, array: str, index: str, value: str, dtype: str = "") -> None:
        """larger: the maximum, by a loop that compares and swaps."""
        if operation == "larger":
            return self.line(f"larger_of({array}, {index}, {value})")
        name = {"and": "and_", "or": "or_"}.get(operation, operation)
        self.line(f"cuda.atomic.{name}({array}, {index}, {value})")

    def block_vote(self, kind: str, condition: str) -> str:
        return f"int(cuda.syncthreads_{kind}(1 if {condition} else 0))"

    def weights(self) -> None:
        self.line("weights = cuda.const.array_like(WEIGHTS)")

    def declare_pair(self, name: str, x: str, y: str) -> tuple[str, str]:
        """A variable of two floating-point numbers; what they are called."""
        self.line(f"{name} = (float({x}), float({y}))")
        return f"{name}[0]", f"{name}[1]"

    def exchange_pair(self, name: str) -> None:
        self.line(f"{name} = ({name}[1], {name}[0])")

    def thread(self) -> dict[str, str]:
        found = {f"t{d}": f"cuda.threadIdx.{d}" for d in "xyz"} | {f"b{d}": f"cuda.blockIdx.{d}" for d in "xyz"}
        return found | {"threads": "cuda.gridsize(1)"}

    def function(self, name: str, kind: str, argument: str, body: list[str]) -> list[str]:
        return ["@cuda.jit(device=True)", f"def {name}(v):", *body, "", ""]

    def kernel(self, name: str, parameters: list[tuple[str, str]]) -> list[str]:
        return ["@cuda.jit", f"def {name}({', '.join(p for p, _ in parameters)}):", *self.lines, "", ""]


class Cuda(Python):
    """CUDA C++."""

    name = "cuda"
    comment = "//"
    integer = "int"

    def both(self, a: str, b: str) -> str:
        return f"({a} && {b})"

    def either(self, a: str, b: str) -> str:
        return f"({a} || {b})"

    def negation(self, a: str) -> str:
        return f"(!{a})"

    def select(self, condition: str, a: str, b: str) -> str:
        return f"({condition} ? {a} : {b})"

    def divide(self, a: str, b: int) -> str:
        return f"({a} / {b})"

    def whole(self, a: str) -> str:
        return f"({self.integer})({a})"

    def real(self, a: str) -> str:
        return f"(double)({a})"

    def smaller(self, a: str, b: str) -> str:
        return f"({a} < {b} ? {a} : {b})" if len(a) + len(b) < 20 else f"lesser({a}, {b})"

    def larger(self, a: str, b: str) -> str:
        return f"({a} > {b} ? {a} : {b})" if len(a) + len(b) < 20 else f"greater({a}, {b})"

    def magnitude(self, a: str, kind: str) -> str:
        return f"fabs({a})" if kind == "float" else f"abs({self.whole(a)})"

    def element(self, array: str, indices: Sequence[str], shape: Sequence[int]) -> str:
        flat = indices[0]
        for index, extent in zip(indices[1:], shape[1:], strict=True):
            flat = f"({flat}) * {extent} + {index}"
        return f"{array}[{flat}]"

    def loaded(self, text: str, kind: str) -> str:
        return f"({self.integer}){text}" if kind == "int" else f"(double){text}"

    def mathematics(self, function: str, a: str) -> str:
        return f"{function}({a})"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def type(self, kind: str) -> str:
        return self.integer if kind == "int" else "double"

    def declare(self, name: str, value: str, kind: str) -> None:
        self.line(f"{self.type(kind)} {name} = {value};")

    def assign(self, name: str, value: str) -> None:
        self.line(f"{name} = {value};")

    def store(self, place: str, value: str, dtype: str) -> None:
        self.line(f"{place} = ({_C[dtype]})({value});")

    def exchange(self, a: str, b: str, kind: str) -> None:
        self.line(f"{{ {self.type(kind)} held = {a}; {a} = {b}; {b} = held; }}")

    def open_if(self, condition: str) -> None:
        self.line(f"if ({condition}) {{")
        self.depth += 1

    def open_else(self, condition: str | None = None) -> None:
        self.depth -= 1
        self.line("} else {" if condition is None else f"}} else if ({condition}) {{")
        self.depth += 1

    def open_for(self, name: str, low: str, high: str, step: int) -> None:
        if step > 0:
            self.line(f"for ({self.integer} {name} = {low}; {name} < {high}; {name} += {step}) {{")
        else:
            self.line(f"for ({self.integer} {name} = {high} - 1; {name} >= {low}; {name} -= {-step}) {{")
        self.depth += 1

    def open_while(self, condition: str) -> None:
        self.line(f"while ({condition}) {{")
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.line("}")

    def leave(self, word: str) -> None:
        self.line(f"{word};")

    def barrier(self) -> None:
        self.line("__syncthreads();")

    def shared(self, name: str, shape: Sequence[int], dtype: str, dynamic: bool) -> None:
        if dynamic:
            self.line(f"extern __shared__ {_C[dtype]} {name}[];")
        else:
            self.line(f"__shared__ {_C[dtype]} {name}[{' * '.join(map(str, shape))}];")

    def local(self, name: str, size: int, dtype: str) -> None:
        self.line(f"{_C[dtype]} {name}[{size}];")

    def atomic(self, operation: str, array: str, index: str, value: str, dtype: str = "") -> None:
        value = f"({_C[dtype]})({value})" if dtype else value
        if operation == "larger":
            return self.line(f"larger_of(&{array}[{index}], {value});")
        self.line(f"atomic{operation.capitalize()}(&{array}[{index}], {value});")

    def block_vote(self, kind: str, condition: str) -> str:
        return f"__syncthreads_{kind}({condition})"

    def weights(self) -> None:
        return

    def declare_pair(self, name: str, x: str, y: str) -> tuple[str, str]:
        self.line(f"double2 {name} = make_double2({x}, {y});")
        return f"{name}.x", f"{name}.y"

    def exchange_pair(self, name: str) -> None:
        self.line(f"{name} = make_double2({name}.y, {name}.x);")

    def thread(self) -> dict[str, str]:
        found = {f"t{d}": f"(int)threadIdx.{d}" for d in "xyz"} | {f"b{d}": f"(int)blockIdx.{d}" for d in "xyz"}
        return found | {"threads": "(int)(blockDim.x * gridDim.x)"}

    def function(self, name: str, kind: str, argument: str, body: list[str]) -> list[str]:
        return [f"__device__ {self.type(kind)} {name}({self.type(argument)} v) {{", *body, "}", ""]

    def kernel(self, name: str, parameters: list[tuple[str, str]]) -> list[str]:
        declared = ", ".join(f"{_C[kind.removesuffix('[]')]} {'*' if kind.endswith('[]') else ''}{p}"
                             for p, kind in parameters)
        return [f'extern "C" __global__ void {name}({declared}) {{', *self.lines, "}", ""]


_C = {"float64": "double", "float32": "float", "int32": "int", "int64": "long long", "uint8": "unsigned char",
      "int16": "short", "uint32": "unsigned",
      "uint64": "unsigned long long", "int": "int", "float": "double", "int8": "signed char"}
