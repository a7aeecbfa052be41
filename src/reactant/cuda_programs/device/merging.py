"""Device code of several files (-rdc=true) as one module, before anything of it is for this processor."""
from __future__ import annotations

import re
from collections.abc import Sequence

from reactant.cuda_programs.device.text import NAME
from reactant.errors import ReactantError
from reactant.native import engine

_EXTERNAL = re.compile(rf"^@({NAME}) = external [^\n]*\baddrspace\([14]\) (?!global [^\n]*section \"reactant_managed\")",
                       re.MULTILINE)


class DeviceLinkError(ReactantError):
    """Device code of several files that does not fit together: a name that two define, or none.

    Example:
        >>> from reactant.cuda_programs.device.merging import DeviceLinkError
        >>> DeviceLinkError("Device code names scale(float), which no file defines.").code
        'cuda-device-link'
    """

    code = "cuda-device-link"
    hint = "Name all objects and libraries with device code where the program, or -dlink's object, is linked."


def merged(texts: Sequence[str]) -> str:
    """One module of clang's LLVM IR for GPUs.

    Args:
        texts: a module each.

    Raises:
        DeviceLinkError: where two of them define a name, or a variable that one declares is defined nowhere.
    """
    llvm = engine.llvm
    with engine._lock:
        engine._target()
        context = llvm.create_context()
        try:
            parsed = [llvm.parse_assembly(text, context=context) for text in texts]
            whole = parsed[0]
            for other in parsed[1:]:
                whole.link_in(other)
            made = str(whole)
            whole.close()
        except RuntimeError as error:
            raise DeviceLinkError(f"Device code of several files does not fit together: {error}") from None
        context.close()
    missing = {m[1].strip('"') for m in _EXTERNAL.finditer(made) if not m[1].startswith("llvm.")}
    if missing:
        raise DeviceLinkError(f"Device code names the variable {sorted(missing)[0]}, which no file defines.")
    return made


def require_definitions(text: str) -> None:
    """Raise `DeviceLinkError` where a prepared module calls device functions that it has not.

    C's mathematics and what the runtime has do not have mangled names.
    """
    missing = {m[1].strip('"') for m in re.finditer(rf"^declare [^\n@]*@({NAME})\(", text, re.MULTILINE)
               if m[1].startswith("_Z")}
    if missing:
        raise DeviceLinkError(f"Device code calls {sorted(missing)[0]}, which no file defines.")
