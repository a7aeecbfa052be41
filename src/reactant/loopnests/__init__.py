"""Parts of the StableHLO program as loop nests: regions that a C compiler runs faster than XLA:CPU does.

`stage` finds them and puts one call of native code in their place; `graph` reads them, `plan` decides what is kept in
memory and which loops are fused, `elements` says how each element is computed, `nests` and `control` write the loops.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactant.loopnests.stage import NativeForm, native_form

__all__ = ["NativeForm", "native_form"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from reactant.loopnests import stage
        return getattr(stage, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
