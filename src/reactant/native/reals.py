"""Floats under construction: Python operators that write LLVM IR, for one number or for several at once.

A routine is a Python function from `Real`s to a `Real`; `call` makes an LLVM function of it in the module that uses it.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from reactant.native import engine
from reactant.native.emission import Function, Module
from reactant.support.records import dataclass

Routine = Callable[..., "Real"]
ROUTINES: dict[str, Routine] = {}
INFINITY, NAN = float("inf"), float("nan")


def _scalar(kind: str) -> str:
    """double of double and of <8 x double>."""
    return kind.rstrip(">").rpartition(" ")[2]


def _with(kind: str, scalar: str) -> str:
    """The type of as many numbers of another type."""
    return kind.replace(_scalar(kind), scalar)


def _constant(kind: str, text: str) -> str:
    return text if kind[0] != "<" else f"splat ({_scalar(kind)} {text})"


@dataclass(frozen=True)
class Bits:
    """An integer of the width of a float, or several."""

    f: Function
    name: str
    kind: str

    @property
    def long(self) -> bool:
        return _scalar(self.kind) == "i64"

    def of(self, value: int) -> Bits:
        return Bits(self.f, _constant(self.kind, str(value)), self.kind)

    def _binary(self, how: str, other: Bits | int) -> Bits:
        operand = other.name if isinstance(other, Bits) else self.of(other).name
        return Bits(self.f, self.f.let(f"{how} {self.kind} {self.name}, {operand}"), self.kind)

    def __add__(self, other: Bits | int) -> Bits:
        return self._binary("add", other)

    def __sub__(self, other: Bits | int) -> Bits:
        return self._binary("sub", other)

    def __and__(self, other: Bits | int) -> Bits:
        return self._binary("and", other)

    def __or__(self, other: Bits | int) -> Bits:
        return self._binary("or", other)

    def __xor__(self, other: Bits | int) -> Bits:
        return self._binary("xor", other)

    def __lshift__(self, other: int) -> Bits:
        return self._binary("shl", other)

    def __rshift__(self, other: int) -> Bits:
        """Arithmetic."""
        return self._binary("ashr", other)

    def floats(self) -> Real:
        """Something of the floats' type, to make constants of."""
        return Real(self.f, "", _with(self.kind, "double" if self.long else "float"))

    def test(self, how: str, other: Bits | int) -> Truth:
        operand = other.name if isinstance(other, Bits) else self.of(other).name
        return Truth(self.f, self.f.let(f"icmp {how} {self.kind} {self.name}, {operand}"), _with(self.kind, "i1"))

    def real(self) -> Real:
        """The float with these bits."""
        kind = _with(self.kind, "double" if self.long else "float")
        return Real(self.f, self.f.let(f"bitcast {self.kind} {self.name} to {kind}"), kind)

    def choose(self, test: Truth, other: Bits) -> Bits:
        """self where the test holds, else other."""
        return Bits(self.f, self.f.let(f"select {test.kind} {test.name}, {self.kind} {self.name}, "
                                       f"{other.kind} {other.name}"), self.kind)


@dataclass(frozen=True)
class Truth:
    """An i1, or several."""

    f: Function
    name: str
    kind: str

    def _binary(self, how: str, operand: str) -> Truth:
        return Truth(self.f, self.f.let(f"{how} {self.kind} {self.name}, {operand}"), self.kind)

    def __and__(self, other: Truth) -> Truth:
        return self._binary("and", other.name)

    def __or__(self, other: Truth) -> Truth:
        return self._binary("or", other.name)

    def __invert__(self) -> Truth:
        return self._binary("xor", _constant(self.kind, "true"))

    def same(self, other: Truth) -> Truth:
        return ~self._binary("xor", other.name)


@dataclass(frozen=True)
class Real:
    """A float under construction; operators write instructions."""

    f: Function
    name: str
    kind: str

    @property
    def scalar(self) -> str:
        return _scalar(self.kind)

    @property
    def double(self) -> bool:
        return self.scalar == "double"

    @property
    def suffix(self) -> str:
        number = "f64" if self.double else "f32"
        return number if self.kind[0] != "<" else f"v{self.kind[1:].split()[0]}{number}"

    def of(self, value: float) -> Real:
        """A constant of the same type."""
        number = np.float64(value) if self.double else np.float64(np.float32(value))
        return Real(self.f, _constant(self.kind, f"0x{int(number.view(np.uint64)):016X}"), self.kind)

    def _operand(self, other: Real | float) -> str:
        return other.name if isinstance(other, Real) else self.of(other).name

    def _binary(self, how: str, other: Real | float) -> Real:
        return Real(self.f, self.f.let(f"{how} {self.kind} {self.name}, {self._operand(other)}"), self.kind)

    def __add__(self, other: Real | float) -> Real:
        return self._binary("fadd", other)

    def __sub__(self, other: Real | float) -> Real:
        return self._binary("fsub", other)

    def __mul__(self, other: Real | float) -> Real:
        return self._binary("fmul", other)

    def __truediv__(self, other: Real | float) -> Real:
        return self._binary("fdiv", other)

    def __rsub__(self, other: float) -> Real:
        return self.of(other) - self

    def __rtruediv__(self, other: float) -> Real:
        return self.of(other) / self

    def __neg__(self) -> Real:
        return Real(self.f, self.f.let(f"fneg {self.kind} {self.name}"), self.kind)

    def test(self, how: str, other: Real | float) -> Truth:
        """`fcmp`: olt, ogt, oeq, uno..."""
        return Truth(self.f, self.f.let(f"fcmp {how} {self.kind} {self.name}, {self._operand(other)}"),
                     _with(self.kind, "i1"))

    def choose(self, test: Truth, other: Real | float) -> Real:
        """self where the test holds, else other."""
        return Real(self.f, self.f.let(f"select {test.kind} {test.name}, {self.kind} {self.name}, {self.kind} "
                                       f"{self._operand(other)}"), self.kind)

    def _intrinsic(self, name: str, *others: Real | float) -> Real:
        arguments = [(self.kind, self.name), *((self.kind, self._operand(o)) for o in others)]
        return Real(self.f, self.f.intrinsic(f"llvm.{name}.{self.suffix}", self.kind, arguments), self.kind)

    def fma(self, factor: Real | float, addend: Real | float) -> Real:
        """self * factor + addend, rounded once."""
        return self._intrinsic("fma", factor, addend)

    def sqrt(self) -> Real:
        return self._intrinsic("sqrt")

    def abs(self) -> Real:
        return self._intrinsic("fabs")

    def copysign(self, other: Real) -> Real:
        return self._intrinsic("copysign", other)

    def trunc(self) -> Real:
        return self._intrinsic("trunc")

    def least(self, other: float) -> Real:
        """min(self, other); NaN stays."""
        return self.of(other).choose(self.test("ogt", other), self)

    def most(self, other: float) -> Real:
        return self.of(other).choose(self.test("olt", other), self)

    def bits(self) -> Bits:
        kind = _with(self.kind, "i64" if self.double else "i32")
        return Bits(self.f, self.f.let(f"bitcast {self.kind} {self.name} to {kind}"), kind)

    def wide(self) -> Real:
        """As a double."""
        kind = _with(self.kind, "double")
        return self if self.double else Real(self.f, self.f.let(f"fpext {self.kind} {self.name} to {kind}"), kind)

    def narrow(self) -> Real:
        kind = _with(self.kind, "float")
        return Real(self.f, self.f.let(f"fptrunc {self.kind} {self.name} to {kind}"), kind)

    def polynomial(self, coefficients: tuple[float, ...]) -> Real:
        """sum c[i] x**i: pairs are combined first (Estrin), which keeps the chain of dependent operations short."""
        terms = [self.of(c) for c in coefficients]
        power = self
        while len(terms) > 1:
            pairs = [power.fma(terms[i + 1], terms[i]) if i + 1 < len(terms) else terms[i]
                     for i in range(0, len(terms), 2)]
            power = power * power if len(pairs) > 1 else power
            terms = pairs
        return terms[0]


def routine(name: str) -> Callable[[Routine], Routine]:
    """Declare how a function is computed."""
    def declare(body: Routine) -> Routine:
        ROUTINES[name] = body
        return body
    return declare


def rarely(value: Real, rare: Truth, operands: Sequence[Real], exact: Callable[..., str]) -> Real:
    """`value`, and what the instruction `exact(*operands)` gives where a test holds, which is seldom."""
    f, kind, some = value.f, value.kind, rare.name
    lanes = int(kind[1:].split()[0]) if kind[0] == "<" else 0
    seldom, on = f.fresh("seldom"), f.fresh("on")
    if lanes:
        packed = f.let(f"bitcast {rare.kind} {rare.name} to i{lanes}")
        some = f.let(f"icmp ne i{lanes} {packed}, 0")
    before = f.block
    f.branch_if(some, seldom, on)
    f.start(seldom)
    if lanes:
        called = value.name
        for lane in range(lanes):
            *ones, fast = (f.let(f"extractelement {kind} {v.name}, i32 {lane}") for v in (*operands, value))
            is_rare = f.let(f"extractelement {rare.kind} {rare.name}, i32 {lane}")
            found = f.let(exact(*ones))
            chosen = f.let(f"select i1 {is_rare}, {value.scalar} {found}, {value.scalar} {fast}")
            called = f.let(f"insertelement {kind} {called}, {value.scalar} {chosen}, i32 {lane}")
    else:
        called = f.let(exact(*(v.name for v in operands)))
    f.branch(on)
    f.start(on)
    return Real(f, f.let(f"phi {kind} [{value.name}, %{before}], [{called}, %{seldom}]"), kind)


PURE = "nounwind willreturn memory(none)"
BRANCHING = frozenset(("sin", "cos", "tan", "fmod"))
"""Routines that branch for rare operands. Loops over them are vectorised all the same: LLVM is told of versions of
theirs for several numbers at once, by the names of the vector function ABI."""


def _lanes(kind: str) -> tuple[int, int]:
    """How many numbers versions of a routine take: a register full of them, or of numbers of the other width."""
    full = engine.vector_bytes() // (8 if kind == "double" else 4)
    return full, full // 2


def call(f: Function, name: str, kind: str, operands: list[str]) -> str:
    """Call a routine, which the module then holds."""
    symbol, module = f"m.{name}.{kind}", f.module
    branching, note = name in BRANCHING, ""
    if symbol not in module.routines:
        module.routines[symbol] = ""
        how = f"{'noinline' if branching else 'alwaysinline'} {PURE} #0"
        # not internal where it branches: LLVM would take constant operands out, and the versions for several have them
        linkage = kind if branching else f"internal {kind}"
        module.routines[symbol] = _defined(module, symbol, name, [kind] * len(operands), linkage, how)
        if branching:
            for lanes in _lanes(kind):
                several = f"<{lanes} x {kind}>"
                for mask in ([], [f"<{lanes} x i1>"]):
                    vector = f"{symbol}.{lanes}{'m' if mask else ''}"
                    module.routines[vector] = _defined(module, vector, name, [several] * len(operands) + mask,
                                                       several, f"{PURE} #0", len(operands))
    if branching:
        variants = [f"_ZGV_LLVM_{'M' if m else 'N'}{lanes}{'v' * len(operands)}_{symbol}({symbol}.{lanes}{m})"
                    for lanes in _lanes(kind) for m in ("", "m")]
        note = f' "vector-function-abi-variant"="{",".join(variants)}"'
        return f.let(f"call {kind} @{symbol}({', '.join(f'{kind} {o}' for o in operands)}) {PURE}{note}")
    return f.call(kind, f"@{symbol}", [(kind, o) for o in operands])


def _defined(module: Module, symbol: str, name: str, kinds: list[str], result: str, how: str,
             count: int | None = None) -> str:
    inside = Function(module)
    inside.result_types = (kinds[0],)
    inside.start("start")
    made = ROUTINES[name](*(Real(inside, f"%x{i}", kind) for i, kind in enumerate(kinds[:count])))
    inside.leave((made.name,))
    listed = ", ".join(f"{kind} %x{i}" for i, kind in enumerate(kinds))
    return inside.finished(f"{result} @{symbol}({listed}) {how}")
