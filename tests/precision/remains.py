"""What of a program's own floats is left where limbs have taken their place."""
from __future__ import annotations

from typing import Any

import reactant
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.types import dtype_of

SPLIT = ("reduce_precision", "subtract", "select", "is_finite", "convert", "constant", "broadcast_in_dim", "real",
         "imag")
"""Of arguments."""
JOIN = ("convert", "add", "select", "compare", "constant", "broadcast_in_dim", "complex")
"""Of results."""
PASSED_ON = ("reshape", "slice", "transpose", "optimization_barrier", "concatenate")
"""What the last stage may do to arguments before they are split, and to results."""


def strays(jitted: Any, *arguments: Any, source: str = "float64") -> list[str]:
    """The names of operations of the source format that neither split an argument nor join a result."""
    with building():
        module = modules.parse(str(reactant.code_hlo(jitted, *arguments)))
        whole: dict[Any, str] = {}
        found = []
        for op in modules.walk(module):
            name = op.name.removeprefix("stablehlo.")
            if name.startswith("func.") or name in ("return", "while", "if", "case", "module", "builtin.module"):
                continue
            wide = [v for v in op.operands if _is(v, source)]
            if not wide and not any(_is(v, source) for v in op.results):
                continue
            kinds = {whole.get(v, "split") for v in wide} - {"constant"}
            if name == "constant":
                kind = "constant"
            elif not wide:
                kind = "join"               # from limbs
            else:
                kind = kinds.pop() if len(kinds) == 1 else "constant" if not kinds else "stray"
            allowed = {"split": SPLIT, "join": JOIN, "constant": (*SPLIT, *JOIN)}.get(kind, ())
            if name not in (*allowed, *PASSED_ON):
                found.append(name)
                kind = "stray"
            whole.update((result, kind) for result in op.results)
        return found


def _is(value: Any, source: str) -> bool:
    try:
        return dtype_of(value).name in (source, {"float64": "complex128", "float32": "complex64"}[source])
    except (ValueError, TypeError, AttributeError):
        return False
