"""Elementary functions of device code as this project's own routines, which loops over threads vectorise."""
from __future__ import annotations

import re

from reactant.native import mathematics, reals
from reactant.native.emission import Function, Module, Settings

_NAMES = {"float": ("f32", "f"), "double": ("f64", "")}
_BOTH = ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "erfcinv",
         "erfcx", "erfinv", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "normcdfinv", "sin", "sinh",
         "tan", "tanh")


def _spellings() -> dict[str, tuple[str, str]]:
    """Function in LLVM IR -> (routine, type)."""
    found = {}
    for kind, (short, suffix) in _NAMES.items():
        for name in _BOTH:
            found[f"llvm.{name}.{short}"] = found[f"{name}{suffix}"] = (name, kind)
        found[f"fmod{suffix}"] = ("fmod", kind)
        found[f"llvm.pow.{short}"] = found[f"pow{suffix}"] = ("powf", kind)
    return found


SPELLINGS = _spellings()
_CALL = re.compile(r"\bcall\b([^@\n%]*?)(float|double) @([\w.]+)\(([^()\n]*)\)([^\n]*)")


def with_routines(text: str) -> tuple[str, str]:
    """(a module's text that calls routines where there are some, LLVM IR of those)."""
    module = Module(Settings(), {})
    made: dict[str, str] = {}

    def replace(found: re.Match) -> str:
        if (spelt := SPELLINGS.get(found[3])) is None:
            return found[0]
        name, kind = spelt
        if kind != found[2]:
            return found[0]
        symbol = made.setdefault(found[3], f"reactant.math.{len(made)}")
        return f"call {kind} @{symbol}({found[4]})"
    text = _CALL.sub(replace, text)
    for spelling, symbol in made.items():
        name, kind = SPELLINGS[spelling]
        count = 2 if name in ("atan2", "fmod", "powf") else 1
        f = Function(module)
        f.result_types = (kind,)
        f.start("start")
        f.leave((mathematics.evaluate(f, name, kind, [f"%x{i}" for i in range(count)]),))
        listed = ", ".join(f"{kind} %x{i}" for i in range(count))
        module.definitions.append(f.finished(f"internal {kind} @{symbol}({listed}) alwaysinline {reals.PURE} #0"))
    routines = module.text() if made else ""
    routines = re.sub(r"^define (?=[^@\n]*@m\.)(?!internal)", "define weak_odr hidden ", routines, flags=re.MULTILINE)
    return text, routines.replace("@reactant.library.", "@")
