"""Programs compiled ahead of time, as files that run where their source is not: `reactant compile` and `reactant.load`.

A file has what the compile cache keeps of a program, its signature, what its checks say, and XLA's executables. It is
machine code of this kind of processor for the versions that made it, and refuses to run with others.
"""
from __future__ import annotations

import builtins
import hashlib
import os
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from reactant import errors
from reactant.cache import encoding, environment, store
from reactant.cache.encoding import Damaged
from reactant.cache.walk import NotCacheable
from reactant.calling import recalled
from reactant.calling import signature as sig
from reactant.calling.compiled import Compiled, Times
from reactant.errors import ReactantError, UnsupportedError
from reactant.options import CompileOptions
from reactant.runtime.program import Variant
from reactant.support.package import PACKAGE

BEGIN = b"reactant compiled program\n"
_TYPES: dict[str, type] = {each.__name__: each for each in (bool, int, float, complex, str, dict, list, tuple)}

encoding.register("reactant.calling.signature", Static="value")


def is_compiled(data: bytes) -> bool:
    """Whether the content of a file is a program of `save`."""
    return data.startswith(BEGIN)


def save(jitted: Any, path: str | PathLike, args: tuple, kwargs: dict[str, Any]) -> None:
    """Compile a function for arguments like these and write the program into a file.

    jitted: a `Jitted` of a NumPy function. Raises `UnsupportedError` where the program needs something
    of its source, or of this process.
    """
    key, _ = jitted._sign(args, kwargs)
    forms = _Forms()
    compiled = jitted._lower(key, keep=False).program()
    try:
        state = recalled.state_of(compiled)
        object.__setattr__(compiled.executable._body, "kept", forms)    # type: ignore[union-attr]
        compiled.executable.compile(on_device=compiled.lowered.on_device)
        names = list(jitted._parameters)
        content = encoding.encoded((recalled.FORM, _versions(), _plain(key[:2]), names, state, _failures(compiled),
                                    [(variant, data) for variant, data in forms.found]))
    except NotCacheable as reason:
        raise UnsupportedError(f"{jitted.__name__} cannot be compiled into a file: {reason}.", code="compiled-program",
                               span=None) from None
    Path(path).write_bytes(BEGIN + store.sealed(content))


def _versions() -> str:
    """What machine code depends on: versions, ours included, and the processor."""
    ours = sorted((os.path.relpath(path, PACKAGE), size) for path, size, _ in environment.package())
    return hashlib.blake2b(repr((environment.versions()[1:4], environment.machine(), ours)).encode()).hexdigest()


def _failures(compiled: Compiled) -> list[tuple[str, str]]:
    """What checks raise: the name of a class of Python's or ours, and its text where that tells nothing of a run."""
    found = []
    for error, told in zip(compiled._traced.errors, compiled._traced.told or [()] * 99, strict=False):
        made = error() if not told else ReactantError("A check of the program has failed.", code="compiled-program")
        found.append((type(made).__name__, str(made)))
    return found


def _plain(node: Any) -> Any:
    """A signature without classes of the user's."""
    if isinstance(node, sig.Static):
        return node
    if isinstance(node, type):
        if _TYPES.get(node.__name__) is not node:
            raise NotCacheable(f"an argument is of the class {node.__qualname__}")
        return ("type", node.__name__)
    return tuple(map(_plain, node)) if type(node) is tuple else node


class _Forms:
    """Executables as they are made, or as a file has them."""

    def __init__(self, found: list[tuple[Variant, bytes]] | None = None):
        self.found = [] if found is None else found

    def find(self, variant: Variant, options: Mapping[str, Any]) -> bytes | None:
        """The executable of a form."""
        return next((data for one, data in self.found if one == variant), None)

    def keep(self, variant: Variant, options: Mapping[str, Any], data: bytes) -> None:
        """Take an executable."""
        self.found.append((variant, data))


class CompiledProgram:
    """A program out of a file: called as the function was, with arguments like those it was compiled for."""

    def __init__(self, name: str, signature: tuple, names: list[str], compiled: Compiled):
        self.__name__, self._signature, self._names, self._compiled = name, signature, names, compiled

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """What the function returns. Raises `TypeError` for arguments of other types or shapes."""
        flat = sig.Flattener()
        positional = tuple([flat.node(a) for a in args])
        keyword = tuple([(n, flat.node(kwargs[n])) for n in sorted(kwargs)])
        try:
            same = _plain((positional, keyword)) == self._signature
        except NotCacheable:
            same = False
        if not same:
            raise TypeError(f"{self.__name__} was compiled for arguments like {self._signature[0]}, which these are "
                            f"not. Compile it for them: reactant compile SCRIPT:{self.__name__} --args ...")
        return self._compiled.run(flat.leaves, args, kwargs)

    def __repr__(self) -> str:
        return f"<reactant program {self.__name__}({', '.join(self._names)})>"


class _Lowered:
    """What calls ask of a program before XLA."""

    as_jax = False
    placement = choice = call = original = None
    ours = False

    def __init__(self, name: str, traced: Any, on_device: bool, notes: list[str]):
        self.name, self.traced, self.on_device, self.notes = name, traced, on_device, notes
        self.options, self.times = CompileOptions(cache=False), Times()


def _raising(kind: str, text: str) -> Callable[..., BaseException]:
    """What makes the exception of a check."""
    cls = getattr(errors, kind, None) or getattr(builtins, kind, None)
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        cls = ValueError
    try:
        made = cls(text)
        plain = str(made) == text
    except TypeError:
        plain = False
    return lambda *told: cls(text) if plain else ReactantError(text, code="compiled-program")


def loaded(data: bytes) -> CompiledProgram:
    """The program of a file. Raises `ReactantError` where it is damaged, or for other versions or another machine."""
    content = store.content_of(data[len(BEGIN):])
    try:
        if content is None:
            raise Damaged("its digest is another one")
        form, versions, signature, names, state, failures, forms = encoding.decoded(content)
    except Damaged as error:
        raise ReactantError(f"The compiled program is damaged: {error}.", hint="Compile it again.",
                            code="compiled-program") from None
    except ValueError as error:
        raise ReactantError(f"The compiled program is of another version of reactant ({error}).",
                            hint="Compile it again.", code="compiled-program") from None
    if form != recalled.FORM or versions != _versions():
        raise ReactantError("The program was compiled with other versions of reactant, NumPy, jax or jaxlib, or for "
                            "another processor.", code="compiled-program",
                            hint="Compile it here: reactant compile SCRIPT:FUNCTION --args ... -o FILE")
    try:
        compiled = recalled.compiled_of(state, lambda traced, name, on_device, notes: _Lowered(
            name, traced, on_device, list(notes)), lambda count: [_raising(*each) for each in failures],
            _Forms(list(forms)))
    except (ValueError, TypeError, KeyError) as error:
        raise ReactantError(f"The compiled program cannot be loaded here: {error}.", hint="Compile it again.",
                            code="compiled-program") from None
    return CompiledProgram(compiled.lowered.name, signature, names, compiled)


