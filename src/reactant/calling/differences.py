"""What differs between two signatures: why a function is compiled again, and what a compiled program does not take."""
from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter
from typing import Any

import numpy as np

from reactant.calling.signature import Static
from reactant.runtime import meshes

_ARRAYS = ("array", "device")


def reason(before: tuple, now: tuple) -> str:
    """Which part of the signature changed between two compilations."""
    for number, (a, b) in enumerate(zip(before[0], now[0], strict=False)):
        if a != b:
            advice = " Pass it as a float, or name it in traced_argnames." if isinstance(b, Static) \
                and isinstance(b.value, int) else ""
            return f"The last time argument {number} changed from {_shown(a)} to {_shown(b)}.{advice}"
    for (name, a), (_, b) in zip(before[1], now[1], strict=False):
        if a != b:
            return f"The last time argument '{name}' changed from {_shown(a)} to {_shown(b)}."
    return "The last time the number of arguments or the default device changed."


def arranged(made_for: tuple, args: tuple, kwargs: dict, parameters: Mapping[str, Parameter]) -> tuple[tuple, dict]:
    """The arguments of a call, by position and by name as they were when it was lowered. What is part of the program
    may be left out, where no default says otherwise."""
    names = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    positional, keyword = names[:len(made_for[0])], [name for name, _ in made_for[1]]
    if len(args) > len(names) or len(made_for[0]) > len(names):
        return args, kwargs
    given = dict(zip(names, args, strict=False)) | kwargs
    for name, node in (*zip(positional, made_for[0], strict=True), *made_for[1]):
        if name not in given and isinstance(node, Static) and name in parameters:
            default = parameters[name].default
            if default is Parameter.empty or Static(default) == node:
                given[name] = node.value
    if len(given) < len(args) + len(kwargs) or given.keys() != {*positional, *keyword}:
        return args, kwargs
    return tuple(given[name] for name in positional), {name: given[name] for name in keyword}


def apart(made_for: tuple, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments, with a view for an array given a second time where the program takes two."""
    seen: set[int] = set()

    def one(x: Any, node: Any) -> Any:
        again = type(x) is np.ndarray and id(x) in seen and isinstance(node, tuple) and node[0] == "array"
        seen.add(id(x))
        return x[...] if again else x

    keyword = dict(made_for[1])
    return (tuple(map(one, args, made_for[0])) if len(args) == len(made_for[0]) else args,
            {name: one(x, keyword.get(name)) for name, x in kwargs.items()})


def require_fitting(name: str, made_for: tuple, given: tuple) -> None:
    """Raise a `TypeError` where a call does not have the signature that the program `name` was lowered for."""
    if len(made_for[0]) != len(given[0]) or [n for n, _ in made_for[1]] != [n for n, _ in given[1]]:
        raise TypeError(f"{name} was compiled for the arguments ({_listed(made_for)}); ({_listed(given)}) were given.")
    for number, (made, now) in enumerate([*zip(made_for[0], given[0], strict=True),
                                          *((a, b) for (_, a), (_, b) in zip(made_for[1], given[1], strict=True))]):
        if (found := _difference(made, now)) is not None:
            label = number if number < len(made_for[0]) else f"'{made_for[1][number - len(made_for[0])][0]}'"
            whole = "Argument" if found == (made, now) else "A part of argument"
            raise TypeError(f"{whole} {label} of {name} is {_shown(found[1])}; it was compiled "
                            f"for {_shown(found[0])}.")


def _difference(made: Any, given: Any) -> tuple[Any, Any] | None:
    """The innermost parts of two nodes of which the second is not what a program for the first one takes."""
    if made == given:
        return None
    if not (isinstance(made, tuple) and isinstance(given, tuple)) or len(made) != len(given) or not made:
        return made, given
    if made[0] in _ARRAYS and given[0] in _ARRAYS:
        return None if _takes(made, given) else (made, given)
    if _is_node(made) and (made[0] != given[0] or made[0] == "dict" and made[2] != given[2]):    # other keys
        return made, given
    for a, b in zip(made, given, strict=True):
        if (found := _difference(a, b)) is not None:
            return found if all(isinstance(x, Static) or _is_node(x) for x in found) else (made, given)
    return None


def _takes(made: tuple, given: tuple) -> bool:
    """Whether an array is one for which the program was traced. How its elements lie matters to `ravel("K")`, say."""
    if made[1] != given[1] or made[2].newbyteorder("=") != given[2].newbyteorder("=") or made[5:] != given[5:]:
        return False
    return "device" in (made[0], given[0]) or len(made[1]) < 2 or made[3] == given[3]


def _is_node(x: Any) -> bool:
    return isinstance(x, tuple) and bool(x) and isinstance(x[0], str)


def _listed(signature: tuple) -> str:
    return ", ".join([*map(_shown, signature[0]), *(f"{name}={_shown(node)}" for name, node in signature[1])])


def _shown(node: Any) -> str:
    if isinstance(node, Static):
        return repr(node.value)
    if node[0] in _ARRAYS:
        layout = f" of strides {node[3]}" if node[0] == "array" and node[3] is not None else ""
        layout += f" on {meshes.shown(node[5])}" if len(node) == 6 else ""
        return f"{node[2]}{list(node[1])}{layout}"
    if node[0] == "same":
        return "the array or object of an earlier argument"
    if node[0] in ("python", "scalar"):
        return getattr(node[1], "__name__", str(node[1]))
    if node[0] == "dict":
        return f"a dict with the keys {', '.join(map(_shown, node[2]))}"
    if node[0] in ("list", "tuple"):
        return f"{node[0]} of {len(node[1])}"
    return str(node[0])
