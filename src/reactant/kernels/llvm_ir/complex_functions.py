"""Products and quotients of complex numbers, as compilers of C call them, in LLVM IR: what C's Annex G says of them.

A product or quotient of which both parts are NaN is infinite, or zero, where its operands say so.
"""
from __future__ import annotations

import re

_NAME = re.compile(r"__(mul|div)([sd])c3")


def body(name: str, result: str) -> str | None:
    """The body of `__muldc3(a, b, c, d)` and its kin, with `%0`... for the arguments; None for any other name."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    text = _Body("float" if found[2] == "s" else "double")
    real, imaginary = (_product if found[1] == "mul" else _quotient)(text)
    insert, index = ("insertelement", "i32 ") if result.startswith("<") else ("insertvalue", "")
    first = text.line(f"{insert} {result} poison, {text.type} {real}, {index}0")
    return "\n".join([*text.lines, f"%r = {insert} {result} {first}, {text.type} {imaginary}, {index}1"])


class _Body:
    """Lines of LLVM IR on floats of one type; each method gives the name of its value."""

    def __init__(self, type_: str) -> None:
        self.type, self.short, self.suffix = type_, *{"float": ("f32", "f"), "double": ("f64", "")}[type_]
        self.lines: list[str] = []

    def line(self, text: str) -> str:
        self.lines.append(f"%v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def two(self, operation: str, x: str, y: str) -> str:
        return self.line(f"{operation} {self.type} {x}, {y}")

    def intrinsic(self, name: str, *operands: str) -> str:
        typed = ", ".join(f"{self.type} {o}" for o in operands)
        return self.line(f"call {self.type} @llvm.{name}.{self.short}({typed})")

    def cross(self, sign: str, a: str, b: str, c: str, d: str) -> str:
        """a b + c d, or a b - c d."""
        return self.two(sign, self.two("fmul", a, b), self.two("fmul", c, d))

    def scaled(self, x: str, exponent: str) -> str:
        return self.line(f"call {self.type} @llvm.ldexp.{self.short}.i32({self.type} {x}, i32 {exponent})")

    def nan(self, x: str) -> str:
        return self.two("fcmp uno", x, "0.0")

    def infinite(self, x: str) -> str:
        return self.two("fcmp oeq", self.intrinsic("fabs", x), _INF)

    def finite(self, x: str) -> str:
        return self.two("fcmp olt", self.intrinsic("fabs", x), _INF)

    def every(self, *conditions: str) -> str:
        return self._joined("and", conditions)

    def some(self, *conditions: str) -> str:
        return self._joined("or", conditions)

    def no(self, condition: str) -> str:
        return self.line(f"xor i1 {condition}, true")

    def select(self, condition: str, x: str, y: str) -> str:
        return self.line(f"select i1 {condition}, {self.type} {x}, {self.type} {y}")

    def boxed(self, when: str, x: str) -> str:
        """One for an infinity and zero for the others, with their signs."""
        one = self.select(self.infinite(x), "1.0", "0.0")
        return self.select(when, self.intrinsic("copysign", one, x), x)

    def without_nan(self, when: str, x: str) -> str:
        """Zero for a NaN, with its sign."""
        return self.select(self.every(when, self.nan(x)), self.intrinsic("copysign", "0.0", x), x)

    def _joined(self, operation: str, conditions: tuple[str, ...]) -> str:
        value = conditions[0]
        for condition in conditions[1:]:
            value = self.line(f"{operation} i1 {value}, {condition}")
        return value


_INF = "0x7FF0000000000000"


def _product(t: _Body) -> tuple[str, str]:
    a, b, c, d = "%0", "%1", "%2", "%3"
    terms = [t.two("fmul", x, y) for x, y in ((a, c), (b, d), (a, d), (b, c))]
    real, imaginary = t.two("fsub", *terms[:2]), t.two("fadd", *terms[2:])
    left, right = t.some(t.infinite(a), t.infinite(b)), t.some(t.infinite(c), t.infinite(d))
    a, b, c, d = t.boxed(left, a), t.boxed(left, b), t.without_nan(left, c), t.without_nan(left, d)
    a, b, c, d = t.without_nan(right, a), t.without_nan(right, b), t.boxed(right, c), t.boxed(right, d)
    large = t.every(t.no(t.some(left, right)), t.some(*map(t.infinite, terms)))
    a, b, c, d = (t.without_nan(large, x) for x in (a, b, c, d))
    again = t.every(t.nan(real), t.nan(imaginary), t.some(left, right, large))
    return (t.select(again, t.two("fmul", _INF, t.cross("fsub", a, c, b, d)), real),
            t.select(again, t.two("fmul", _INF, t.cross("fadd", a, d, b, c)), imaginary))


def _quotient(t: _Body) -> tuple[str, str]:
    a, b, c, d = "%0", "%1", "%2", "%3"
    largest = t.intrinsic("maxnum", t.intrinsic("fabs", c), t.intrinsic("fabs", d))
    exponent = t.line(f"call i32 @ilogb{t.suffix}({t.type} {largest})")
    usual = t.every(t.finite(largest), t.two("fcmp ogt", largest, "0.0"))
    less = t.line(f"sub i32 0, {exponent}")
    less = t.line(f"select i1 {usual}, i32 {less}, i32 0")
    c, d = t.scaled(c, less), t.scaled(d, less)
    square = t.cross("fadd", c, c, d, d)
    real = t.scaled(t.two("fdiv", t.cross("fadd", a, c, b, d), square), less)
    imaginary = t.scaled(t.two("fdiv", t.cross("fsub", b, c, a, d), square), less)

    undefined = t.every(t.nan(real), t.nan(imaginary))
    by_zero = t.every(t.two("fcmp oeq", square, "0.0"), t.no(t.every(t.nan(a), t.nan(b))))
    of_infinity = t.every(t.some(t.infinite(a), t.infinite(b)), t.finite(c), t.finite(d))
    by_infinity = t.every(t.infinite(largest), t.finite(a), t.finite(b))
    a1, b1, c1, d1 = t.boxed(of_infinity, a), t.boxed(of_infinity, b), t.boxed(by_infinity, c), t.boxed(by_infinity, d)
    pole = t.intrinsic("copysign", _INF, c)
    factor = t.select(of_infinity, _INF, "0.0")

    def recovered(value: str, numerator: str, sign: str, first: str, second: str) -> str:
        limit = t.two("fmul", factor, t.cross(sign, first, c1, second, d1))
        other = t.select(t.some(of_infinity, by_infinity), limit, value)
        return t.select(undefined, t.select(by_zero, t.two("fmul", pole, numerator), other), value)
    return recovered(real, a, "fadd", a1, b1), recovered(imaginary, b, "fsub", b1, a1)
