"""Linear algebra, in the form of LAPACK's routines that programs hold it in (`ir.lapack`), and StableHLO's two."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.lapack import TRANSPOSES
from reactant.ir.types import shape_and_dtype, size
from reactant.precision import factorizations, matrices, spectra
from reactant.precision.conversion import Conversion, declare
from reactant.precision.values import Number, Value, choose

Routine: TypeAlias = Callable[..., Sequence["Value | None"]]

ROUTINES: dict[str, Routine] = {}
"""By the names of LAPACK's routines without their first letter."""


def routine(*names: str) -> Callable[[Routine], Routine]:
    """Say what a routine means: called with the settings as letters, and stacks of matrices; gives
    None for results that are nothing but zeros."""
    def keep(rule: Routine) -> Routine:
        ROUTINES.update(dict.fromkeys(names, rule))
        return rule
    return keep


@declare("custom_call")
def custom_call(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value] | None:
    """One of LAPACK's routines. Empty matrices stay with LAPACK, which has nothing to compute for them."""
    target = ops.target_of(op)
    rule = ROUTINES.get(target.removesuffix("_ffi")[len("lapack_x"):]) if target.startswith("lapack_") else None
    if rule is None:
        raise c.refusal(op, f"'{target}' has no form for them")
    return _of_stacks(c, op, operands, lambda *stacks: rule(_letters(op), *stacks))


def _of_stacks(c: Conversion, op: ir.Operation, operands: Sequence[Value], function: Routine
               ) -> list[Value] | None:
    """A function of stacks of one leading dimension, or None for those without elements."""
    shapes = [shape_and_dtype(value.type)[0] for value in op.operands]
    if any(0 in shape for shape in shapes) or c.is_coarse:
        return None
    lead = len(shapes[0]) - 2
    batch = size(shapes[0][:lead])

    def shaped(value: Value, shape: tuple[int, ...]) -> Value:
        return ops.reshape(value, shape) if isinstance(value, ir.Value) else \
            value.each(lambda limb: ops.reshape(limb, shape))
    found = function(*(shaped(v, (batch, *shape[lead:])) for v, shape in zip(operands, shapes, strict=True)))
    return [shaped(v, shape_and_dtype(result.type)[0]) if v is not None else _zeros(c, result)
            for v, result in zip(found, op.results, strict=True)]


def _zeros(c: Conversion, result: ir.Value) -> Value:
    """In place of what a routine leaves behind; as info: all went well."""
    return c.grouped([ops.constant(0, *reversed(shape_and_dtype(type_))) for type_ in c.types([result.type])],
                     [result.type])[0]


def _letters(op: ir.Operation) -> dict[str, str]:
    return {each.name: chr(ir.IntegerAttr(each.attr).value & 255)
            for each in ir.DictAttr(op.attributes["mhlo.backend_config"])}


@routine("trsm")
def trsm(letters: Mapping[str, str], a: Number, b: Number) -> list[Value]:
    """A triangular system."""
    return [factorizations.solved(a, b, left=letters["side"] == "L", lower=letters["uplo"] == "L",
                                  unit=letters["diag"] == "U", transpose=letters["trans_x"])]


@declare("triangular_solve")
def triangular_solve(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value] | None:
    """The same, in StableHLO."""
    told = {name: attr.decode(op.attributes[name]) for name in ("left_side", "lower", "unit_diagonal")}
    transpose = TRANSPOSES[attr.enumerator(op.attributes["transpose_a"])]
    return _of_stacks(c, op, operands, lambda a, b: [factorizations.solved(
        a, b, left=told["left_side"], lower=told["lower"], unit=told["unit_diagonal"], transpose=transpose)])


@routine("potrf")
def potrf(letters: Mapping[str, str], a: Number) -> list[Value]:
    """Cholesky's factor and info."""
    return list(factorizations.cholesky(a, letters["uplo"] == "L"))


@declare("cholesky")
def cholesky(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value] | None:
    """The same, in StableHLO: NaN where there is no factor."""
    lower = "lower" in op.attributes and bool(attr.decode(op.attributes["lower"]))

    def factor(a: Number) -> list[Value]:
        found, failed = factorizations.cholesky(a, lower)
        bad = matrices.each_matrix(ops.compare(failed, ops.splat(0, failed), "NE"), a.shape)
        return [choose(bad, matrices.number_like(a, float("nan")), found)]
    return _of_stacks(c, op, operands, factor)


@routine("getrf")
def getrf(letters: Mapping[str, str], a: Number) -> list[Value]:
    """L and U in one, pivots and info."""
    return list(factorizations.lu(a))


@routine("geqrf")
def geqrf(letters: Mapping[str, str], a: Number) -> list[Value]:
    """R and reflections in one, and their factors."""
    return list(factorizations.reflectors(a))


@routine("orgqr", "ungqr")
def orgqr(letters: Mapping[str, str], a: Number, taus: Number) -> list[Value]:
    """The product of reflections."""
    return [factorizations.orthogonal(a, taus)]


@routine("syevd", "heevd")
def syevd(letters: Mapping[str, str], a: Number) -> list[Value | None]:
    """Vectors, eigenvalues and info."""
    values, vectors = spectra.hermitian(a, letters["uplo"] == "L", letters["mode"] == "V")
    return [vectors, values, None]


@routine("gesdd", "gesvd")
def gesdd(letters: Mapping[str, str], a: Number) -> list[Value | None]:
    """What has been a, singular values, vectors and info."""
    mode = letters.get("mode") or letters["jobu"]
    values, u, vh = spectra.singular(a, mode == "A", mode != "N")
    return [None, values, u, vh, None]
