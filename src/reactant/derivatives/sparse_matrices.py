"""Sparse Jacobians and Hessians: the structure is read off the program, columns without a common row are one direction.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant import pipelines
from reactant.calling import signature as sig
from reactant.calling.compiled import Times
from reactant.calling.jitted import Jitted
from reactant.calling.lowered import Lowered
from reactant.calling.traced import Result, Traced
from reactant.derivatives.entry import EXTRA, compiled, name_of, numbers_of
from reactant.derivatives.linear import prepared, primal_of
from reactant.derivatives.outline import Outlined, Slot, filled, leaves_of
from reactant.differentiate import requests
from reactant.differentiate.modes.cuts import Cut, cut, pulled_to
from reactant.differentiate.structure.sparse import Colouring, colour
from reactant.differentiate.structure.structure import pattern_of, readable
from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import dtype_of, shape_and_dtype
from reactant.runtime.executable import Executable
from reactant.support.like_functions import LikeFunction
from reactant.support.records import dataclass
from reactant.support.session import is_tracing

REVERSE_COST = 2
"""What a direction costs in reverse mode, against forward mode."""
SMALL = 1_000_000
"""Captured arrays of floats of up to this many elements are looked at: their zeros have no derivatives behind them."""


@dataclass(frozen=True)
class Compression:
    """How the matrix of one program is found: its pattern (scipy.sparse.csr_array), which columns (rows) go together,
    and, for each entry in order, where it is in what the program of `module` gives (None: the compressed derivative);
    the shape of the output, and the contents of captured arrays that all this holds for."""

    pattern: Any
    colouring: Colouring
    shape: tuple[int, ...]
    places: np.ndarray
    sums: np.ndarray | None
    """Where each place belongs among the entries, if several make one."""
    program: Executable | None
    captured: tuple[tuple[np.ndarray, bytes], ...]
    dtype: Any = np.float32
    errors: Sequence[Callable[[], BaseException]] = ()
    """What the last result of `program` reports, where there is any."""

    def holds(self) -> bool:
        return all(array.tobytes() == content for array, content in self.captured)

    @cached_property
    def seeds(self) -> np.ndarray:
        return self.colouring.seeds(self.dtype)

    def entries(self, values: np.ndarray) -> np.ndarray:
        if self.sums is None:
            return values.reshape(-1)[self.places]
        places, starts = self._in_order
        return np.add.reduceat(values.reshape(-1)[places], starts) if len(starts) else values.reshape(-1)[:0]

    @cached_property
    def _in_order(self) -> tuple[np.ndarray, np.ndarray]:
        """The places by entry, and where those of each entry begin: every entry has one at least."""
        assert self.sums is not None
        order = np.argsort(self.sums, kind="stable")
        return self.places[order], np.searchsorted(self.sums[order], np.arange(self.pattern.nnz))


class SparseJacobian(LikeFunction):
    """A function of the same arguments that gives the matrix of derivatives as `scipy.sparse.csr_array`, (output.size,
    input.size), or as an array. Made by `jacobian` and `hessian` with `sparse`."""

    def __init__(self, function: Any, argnums: int | Sequence[int], mode: str, dense: bool):
        if not isinstance(argnums, int):
            raise TypeError("A sparse Jacobian is of one argument: argnums is an int.")
        self.differentiated, self.argnums, self.mode, self.dense = function, argnums, mode, dense
        self.__name__ = f"sparse_jacobian_{name_of(function)}"
        self.__doc__ = f"Sparse Jacobian of {name_of(function)}."
        self._known: dict[Any, Compression] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            raise UnsupportedError("The structure of a sparse Jacobian is found before a program is compiled, and "
                                   "its result is not an array.", hint="Call it outside of compiled functions.",
                                   code="sparse-jacobian")
        key, leaves = self._primal._sign(args, kwargs)
        made = self._compression(key, leaves, args, kwargs)
        if made.program is None:
            values = np.asarray(self._compressed(*args, **kwargs, **{EXTRA: (made.colouring.by_rows, made.seeds)}))
        else:
            given = [*map(np.asarray, leaves), *(a for a, _ in made.captured)]
            parts = list(made.program([*given, made.seeds.reshape(made.colouring.count, *made.shape)]))
            if made.errors:
                flags = np.asarray(parts.pop())
                if not flags.all():
                    raise made.errors[int(np.argmin(flags))]()
            values = np.concatenate([np.asarray(part).reshape(made.colouring.count, -1) for part in parts], axis=1)
        from scipy import sparse
        matrix = sparse.csr_array((made.entries(values), made.pattern.indices, made.pattern.indptr),
                                  shape=made.pattern.shape)
        return matrix.toarray().reshape(*made.shape, *np.shape(args[self.argnums])) if self.dense else matrix

    def compression(self, /, *args: Any, **kwargs: Any) -> Compression:
        """How the matrix is found for these arguments; made once for each signature and each content of the integer
        arguments."""
        key, leaves = self._primal._sign(args, kwargs)
        return self._compression(key, leaves, args, kwargs)

    def _compression(self, key: Any, leaves: list, args: tuple, kwargs: dict) -> Compression:
        whole = {i: np.asarray(leaf) for i, leaf in enumerate(leaves) if _is_whole(leaf)}
        fixed = tuple((i, leaf.tobytes()) for i, leaf in whole.items())
        found = self._known.get((key, fixed))
        if found is None or not found.holds():
            found = self._known[key, fixed] = self._compress(args, kwargs, whole, len(leaves))
        return found

    def _compress(self, args: tuple, kwargs: dict, known: dict[int, np.ndarray], leaves: int) -> Compression:
        from scipy import sparse
        traced = self._primal.lower(*args, **kwargs).traced
        captured = {leaves + i: a for i, a in enumerate(traced.captured)}
        known = {**known, **{i: a for i, a in captured.items() if _is_whole(a) or a.size <= SMALL}}
        contents = tuple((a, a.tobytes()) for a in captured.values())
        result = leaves_of(traced.result)[0]
        if not isinstance(result, Result):                 # a constant
            shape = np.shape(getattr(result, "value", result))
            pattern = sparse.csr_array((int(np.prod(shape)), np.size(args[self.argnums])), dtype=bool)
            groups = colour(pattern, self.mode)
            return Compression(pattern, groups, shape, groups.places(pattern), None, None, contents)
        source = modules.take_source(traced.module)        # with what it says about its derivative
        with building():
            module = readable(traced.module if source is None else modules.parse(source))
        number = _leaf_of(args, self.argnums)
        pattern, shape = pattern_of(module, number, result.index, known)
        pattern.sort_indices()
        mode = "reverse" if self.mode == "auto" and requests.reverse_only(module.operation, "main") else self.mode
        groups = colour(pattern, mode)
        split = None if mode == "forward" or requests.present(module, requests.MARKS) \
            else cut(module, number, result.index, known)
        if split is not None:
            split.pattern.sort_indices()
            rows = colour(split.pattern, "reverse")
            if REVERSE_COST * rows.count < groups.count * (REVERSE_COST if groups.by_rows else 1):
                return self._through(split, rows, module, traced, result.index, pattern.shape[1], shape, contents)
        return Compression(pattern, groups, shape, groups.places(pattern), None, None, contents)

    def _through(self, split: Cut, rows: Colouring, module: ir.Module, traced: Traced, result: int, inputs: int,
                 shape: tuple[int, ...], contents: tuple) -> Compression:
        """By rows, to where the elements of the argument are in place."""
        pattern, entry = split.folded(inputs)
        places, sums = rows.places(split.pattern), None
        if len(entry) == pattern.nnz:
            places = places[np.argsort(entry)]
        else:
            sums = entry
        options = compiled(self.differentiated, lambda *_: None, self.__name__).options
        with building():
            checks = [] if traced.flags is None else [traced.flags]
            made = pulled_to(module, split.places, result, rows.count, checks)
            passes = "default" if options.optimize is True else options.optimize or "none"
            report = pipelines.run(made, passes, options=options)
            dtype = dtype_of(modules.function(made).regions[0].blocks[0].arguments[-1])
            lowered = Lowered(self.__name__, Traced(made, None), None, report, Times(), options)
            program = Executable(made, name=self.__name__, xla_options=dict(options.xla),
                                 native=lowered.native_module(None), **lowered.as_numpy())
        return Compression(pattern, rows, shape, places, sums, program, contents, dtype,
                           traced.errors if checks else ())

    # -- programs

    @cached_property
    def _primal(self) -> Any:
        """The output alone."""
        def traced(args: tuple, kwargs: dict, _: Any) -> Any:
            made, slot = self._outlined(args, kwargs)
            return filled(slot, primal_of(made)[0])
        made = compiled(self.differentiated, traced, self.__name__)
        options = made.options.with_(optimize=("inline", "simplify")) if made.options.optimize is True else made.options
        return Jitted(made.function, options, made._static, made._traced)

    @cached_property
    def _compressed(self) -> Any:
        """The derivative in many directions at once."""
        def traced(args: tuple, kwargs: dict, seeds: Any) -> Any:
            made, slot = self._outlined(args, kwargs)
            by_rows, given = seeds
            count = np.shape(given)[0]
            mode = requests.REVERSE if by_rows else requests.FORWARD
            like = made.types[slot.index] if by_rows else made.active[0].value().type
            shape, dtype = shape_and_dtype(like)
            value = ops.convert(given.value(), dtype) if is_tensor(given) else ops.constant(given, dtype)
            results, found = made.request(mode, [slot.index], [ops.reshape(value, (count, *shape))], count=count)
            made.take_effect(results)
            return Tensor.of_value(found[0], ARRAY)
        return compiled(self.differentiated, traced, f"compressed_{name_of(self.differentiated)}", extra=True,
                        of=("compressed", self.differentiated, self.argnums))

    def _outlined(self, args: tuple, kwargs: dict) -> tuple[Outlined, Slot]:
        """The function outlined, and its output. Raises for what is not from one real array to one."""
        (number,) = numbers_of(self.argnums, args)
        made = prepared(self.differentiated, args, kwargs, (number,))
        leaves = [leaf for leaf in leaves_of(made.outputs()) if leaf is not None]
        if len(made.active) != 1 or len(leaves) != 1 or type(leaves[0]) is not Slot:
            raise UnsupportedError(f"A sparse Jacobian is of a function from one array to one array; '{made.name}' "
                                   f"has {len(made.active)} and {len(leaves)}.",
                                   hint="Put them together with np.concatenate.", code="sparse-jacobian")
        slot = leaves[0]
        for dtype in (made.active[0].dtype, shape_and_dtype(made.types[slot.index])[1]):
            if dtype.kind not in "fV":
                raise TypeError(f"jacobian is of real numbers, not {dtype}. Use jvp or vjp.")
        return made, slot


def _is_whole(leaf: Any) -> bool:
    return np.asarray(leaf).dtype.kind in "iub"


def _leaf_of(args: Sequence[Any], number: int) -> int:
    """Which run-time leaf an argument is."""
    flat = sig.Flattener()
    for position, arg in enumerate(args):
        start = len(flat.leaves)
        flat.node(arg)
        if position == number % len(args):
            return start
    raise AssertionError("numbers_of has checked it")


