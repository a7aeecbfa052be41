"""Programs in and out as files: `load` and `export`.

    reactant.export(f, x).save("f.mlirbc")           # StableHLO, for any XLA runtime
    f = reactant.load("f.mlirbc")                    # a function again: call it, jit it, differentiate it
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.export
import numpy as np
from jaxlib.mlir import ir

from reactant.api import as_jitted, jit
from reactant.calling import ahead
from reactant.calling import signature as sig
from reactant.calling.traced import Known, OfArgument, Places, Rows, Sized
from reactant.errors import UnsupportedError
from reactant.frontends.jax import stablehlo
from reactant.ir import cusolver, modules, ops
from reactant.ir.context import building
from reactant.runtime.devices import lowered_for
from reactant.runtime.jax_internals import X64
from reactant.runtime.program import Array, Body, body_of, run_module
from reactant.support.session import is_tracing

if TYPE_CHECKING:
    from reactant.calling.lowered import Lowered


class Loaded:
    """A StableHLO program as a function of NumPy or device arrays; made by `reactant.load`.

    It can be called from functions that are compiled or differentiated, and compiled or differentiated itself. Called
    with arrays of other shapes or dtypes it raises `TypeError`. Gives the result, or a tuple of several.

    Example:
        >>> program = reactant.load(reactant.export(lambda x: x + 1.0, np.ones(3)).text())
        >>> program(np.zeros(3)), program.inputs[0].shape
        (array([1., 1., 1.]), (3,))
    """

    def __init__(self, body: Body):
        self.body = body
        self.__name__ = body.name
        self._jitted = jit(self._traced)

    @property
    def inputs(self) -> tuple[Array, ...]:
        """The shape and dtype of each argument."""
        return self.body.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        """The shape and dtype of each result."""
        return self.body.outputs

    def _traced(self, *arrays: Any) -> Any:
        results = stablehlo.call(self.body, arrays)
        return results[0] if len(results) == 1 else tuple(results)

    def __call__(self, *arrays: Any) -> Any:
        """The result, or a tuple of several. Raises `TypeError` where an argument is not of the program's type."""
        return self._traced(*arrays) if is_tracing() else self._jitted(*arrays)

    def __repr__(self) -> str:
        return f"<StableHLO program {self.body.name}: {', '.join(map(str, self.inputs))} -> " \
               f"{', '.join(map(str, self.outputs))}>"


def load(source: str | bytes | PathLike) -> Loaded | ahead.CompiledProgram:
    """A StableHLO program as a function, or one that `reactant compile` has compiled, which runs at once.

    Args:
        source: the path of a file, or its content: StableHLO text, MLIR bytecode, a portable artifact (`bytes`),
            or a program of `reactant compile`: that is machine code, load none that you would not run.

    Returns:
        A `Loaded` function of arrays; of a compiled program, a function of what it was compiled for.

    Raises:
        InvalidArtifact: a `ValueError`; where it is not a program with a public `@main` over static shapes.
        ReactantError: where a compiled program is damaged, or for another processor or other versions.
        TypeError: for anything but a path, text or bytes.

    Example:
        >>> reactant.export(lambda x: x * 2.0, np.ones(3)).save("double.mlir")
        >>> double = reactant.load("double.mlir")
        >>> double(np.arange(3.0)), reactant.grad(lambda x: double(x)[1])(np.ones(3))
        (array([0., 2., 4.]), array([0., 2., 0.]))
    """
    if not isinstance(source, (str, bytes, PathLike)):
        raise TypeError(f"reactant.load takes a path, StableHLO text or bytes, not {type(source).__name__}.")
    if isinstance(source, PathLike) or source and isinstance(source, str) and "\n" not in source \
            and "func.func" not in source:
        path = Path(source)
        data = path.read_bytes()
        return ahead.loaded(data) if ahead.is_compiled(data) else Loaded(stablehlo.module_of(data, path.stem))
    if isinstance(source, bytes) and ahead.is_compiled(source):
        return ahead.loaded(source)
    return Loaded(stablehlo.module_of(source))


def _close(module: ir.Module, captured: Sequence[np.ndarray]) -> None:
    """Make constants of the last arguments of @main, the arrays a function closes over."""
    main = modules.function(module)
    block = main.regions[0].blocks[0]
    first = len(block.arguments) - len(captured)
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
        for argument, array in zip(list(block.arguments)[first:], captured, strict=True):
            argument.replace_all_uses_with(ops.constant(array))
    for number in reversed(range(first, len(block.arguments))):
        block.erase_argument(number)
    if captured:
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(
            [a.type for a in block.arguments], list(ir.FunctionType(main.attributes["function_type"].value).results)))
        if "arg_attrs" in main.attributes:
            del main.attributes["arg_attrs"]


class Export:
    """A compiled function's program for other runtimes; made by `reactant.export`.

    Attributes:
        module: the StableHLO module, of jaxlib's MLIR bindings.

    Example:
        >>> made = reactant.export(lambda x: x * x, np.ones(3))
        >>> made.save("square.mlirbc")
        >>> len(made.stablehlo()) > 0
        True
    """

    def __init__(self, lowered: Lowered):
        sig.map_tree(lowered.traced.result, partial(_refuse_part, written=lowered.traced.written))
        with building():
            self.module = modules.clone(lowered.module)
            _close(self.module, lowered.traced.captured)
            for op in modules.walk(self.module):
                if op.name == "stablehlo.custom_call" and "reactant" in op.attributes["call_target_name"].value:
                    raise UnsupportedError("This program calls code that is compiled for this process (an unraised "
                                           "kernel, say): no other can run it.",
                                           hint="Compile with reactant.CompileOptions(native=\"never\"), and kernels "
                                                "with lower=\"tensor\".", code="not-exportable")
            self.body = body_of(self.module, lowered.name)
            cusolver.for_platform(self.module, lowered_for())

    def text(self) -> str:
        """The StableHLO text."""
        with building():
            return str(self.module)

    def stablehlo(self, version: str | None = None) -> bytes:
        """StableHLO's portable artifact.

        Args:
            version: the oldest runtime that has to read it, such as "1.0.0"; None: the oldest that StableHLO guarantees
                compatibility with.

        Returns:
            The bytes.

        Raises:
            ReactantError: where that version cannot express it.
        """
        return stablehlo.artifact(self.module, version)

    def jax(self, platforms: Sequence[str] | None = None) -> jax.export.Exported:
        """A `jax.export` artifact over flat arrays.

        Its `serialize()` needs the package flatbuffers (`pip install flatbuffers`), its `call` does not.

        Args:
            platforms: "cpu", "cuda", "tpu"; None: this one.

        Returns:
            A `jax.export.Exported`.
        """
        with X64():
            return jax.export.export(self._function(), platforms=platforms)(
                *(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in self.body.inputs))

    def _function(self) -> Callable:
        def program(*arrays: Any) -> Any:
            return run_module.bind(*arrays, body=self.body)
        program.__name__ = self.body.name
        return jax.jit(program)

    def saved_model(self, directory: str | PathLike) -> None:
        """Write a TensorFlow SavedModel, whose signature is `f`.

        Args:
            directory: where to.

        Raises:
            ImportError: where TensorFlow is not installed.
        """
        try:
            import tensorflow
            from jax.experimental import jax2tf
        except ImportError as error:
            raise ImportError("A SavedModel needs TensorFlow: pip install tensorflow") from error
        module = tensorflow.Module()
        specs = [tensorflow.TensorSpec(a.shape, tensorflow.as_dtype(np.dtype(a.dtype))) for a in self.body.inputs]
        with X64():
            module.f = tensorflow.function(jax2tf.convert(self._function()), autograph=False, input_signature=specs)
            tensorflow.saved_model.save(module, str(directory))

    def save(self, path: str | PathLike) -> None:
        """Write the text (`.mlir`) or the portable artifact (any other name).

        Args:
            path: the file.
        """
        target = Path(path)
        if target.suffix == ".mlir":
            target.write_text(self.text())
        else:
            target.write_bytes(self.stablehlo())


def _refuse_part(leaf: Any, written: Mapping[int, int]) -> None:
    """written: arguments whose final contents are results."""
    if isinstance(leaf, OfArgument) and (leaf.steps or leaf.number not in written):
        raise UnsupportedError("The function returns an argument, or a view of one, which is no result of its "
                               "program: the caller has it.", hint="Return a copy (x.copy()) to export it.",
                               code="not-exportable")
    if isinstance(leaf, (Places, Rows, Sized)):
        raise UnsupportedError("The function returns what has a run-time size, which no result of a program has.",
                               hint="Return it at full size, e.g. np.where(mask, x, 0), and a count or mask to "
                                    "export it.", code="result-of-run-time-size")
    if isinstance(leaf, Known) and isinstance(leaf.value, (np.ndarray, np.generic, int, float, complex)):
        raise UnsupportedError(f"The function returns {leaf.value!r} whatever its arguments hold, which is no result "
                               "of its program.", hint="Leave it out to export the function.", code="not-exportable")


def export(function: Callable, /, *args: Any, **kwargs: Any) -> Export:
    """The optimised program of a function, to be written for other runtimes.

    Its arguments are the run-time leaves of the call's arguments in order; its results those of the function, then the
    final contents of arguments that it writes into, then, of a function with run-time checks, which of them hold
    (bool): outside of Python nothing raises. Arrays that the function closes over become constants.

    Args:
        function: a NumPy or JAX function, or a `reactant.jit` of one.
        args: arguments for which it is compiled.
        kwargs: arguments by name.

    Returns:
        An `Export`, to be written as StableHLO text, a portable artifact, a `jax.export` artifact or a SavedModel.

    Raises:
        UnsupportedError: for a program that calls code compiled for this process, and for a function that returns a
            view of an argument, something of run-time size, or what is constant.

    Example:
        >>> text = reactant.export(lambda x: np.sin(x).sum(), np.ones(4)).text()
        >>> "stablehlo.sine" in text
        True
    """
    lowered, _ = as_jitted(function).lower_call(args, kwargs)
    return Export(lowered)
