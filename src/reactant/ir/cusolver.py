"""Linear algebra on GPUs: NVIDIA's and AMD's libraries behind the calls that programs have of LAPACK's routines.

Rules know one form, LAPACK's (`ir.lapack`). `as_lapack` puts what jax wrote for a GPU into it; `for_gpu` says what a
program holds, by then with derivatives and other new calls in it, as jax says it to a GPU: with cuSOLVER, cuSPARSE and,
for what these lack, the LAPACK of the host ("cuhybrid"; AMD's names begin with "hip"). `without_lapack` is for other
devices, where XLA itself solves triangular systems.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.lapack import LETTERS, TRANSPOSES, lapack_solve, letters, library_call
from reactant.ir.matrices import adjoint, swapped
from reactant.ir.types import dtype_of, is_complex, shape_of, tensor_type

VENDORS = {"cuda": "cu", "rocm": "hip"}
"""How the names of a platform's calls begin."""
CALL, SOLVE = "stablehlo.custom_call", "stablehlo.triangular_solve"
JACOBI_UP_TO = 1024
"""Most rows and columns that jax decomposes by Jacobi's method; more are left to QR."""
JACOBI_ECONOMY = 32
"""Most rows or columns of which cuSOLVER's Jacobi method makes all vectors, wanted or not, as jax uses it."""
CONFIGURATION = "mhlo.backend_config"
CHOSEN = "reactant.chosen"
"""On a call in LAPACK's form: settings of the other library's that somebody chose."""
VENDOR = "reactant.vendor"
"""On a factorization with pivots, in LAPACK's form: how the names of calls begin where it will run."""

Settings = dict[str, ir.Attribute]


@dataclass(frozen=True)
class Routine:
    """A routine that has the same operands and results in both libraries."""

    real: str
    complex: str
    others: str
    """The rest of its name elsewhere."""
    flags: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    """What is a letter in LAPACK: its name elsewhere, the letters of true and false."""
    ours: Mapping[str, str] = field(default_factory=dict)
    """Letters that only LAPACK's has."""
    theirs: Callable[[], Settings] = dict
    """What only the other has, unless jax said something else."""


def _algorithm() -> Settings:
    return {"algorithm": ir.IntegerAttr.get(ir.IntegerType.get_unsigned(8), 0)}


def _magma() -> Settings:
    return {"magma": attr.string("auto")}


TRIANGLE = {"uplo": ("lower", "L", "U")}
SIDES = {"compute_left": ("left", "V", "N"), "compute_right": ("right", "V", "N")}
ROUTINES = (
    Routine("potrf", "potrf", "solver_potrf_ffi", TRIANGLE),
    Routine("getrf", "getrf", "solver_getrf_ffi"),
    Routine("geqrf", "geqrf", "solver_geqrf_ffi"),
    Routine("orgqr", "ungqr", "solver_orgqr_ffi"),
    Routine("ormqr", "unmqr", "solver_ormqr_ffi"),
    Routine("sytrd", "hetrd", "solver_sytrd_ffi", TRIANGLE),
    Routine("syevd", "heevd", "solver_syevd_ffi", TRIANGLE, {"mode": "V"}, _algorithm),
    Routine("geqp3", "geqp3", "hybrid_geqp3", theirs=_magma),
    Routine("geev", "", "hybrid_eig_real", SIDES, theirs=_magma),
    Routine("", "geev", "hybrid_eig_comp", SIDES, theirs=_magma),
)
HERE = {f"lapack_{letter}{stem}_ffi": routine for routine in ROUTINES
        for letters_, stem in (("sd", routine.real), ("cz", routine.complex)) if stem for letter in letters_}
THERE = {prefix + routine.others: routine for routine in ROUTINES for prefix in VENDORS.values()}
ON_HOST = b"hybrid_"
"""In the names of calls for which the library of the host has to be made ready."""
MARKS = (b"solver_", ON_HOST, b"sparse_gtsv2_ffi")
"""One of these is in the bytecode of what jax lowered for a GPU and `as_lapack` has anything to do with, or a
`triangular_solve`."""


def concerns(source: bytes | str) -> bool:
    """Whether a module's bytecode or text names calls that `as_lapack` may know."""
    return any(mark in source if isinstance(source, bytes) else mark.decode() in source for mark in MARKS)


# ---- from jax's form for GPUs --------------------------------------------------------------------------------------

def as_lapack(module: ir.Module) -> None:
    """Put calls of a GPU's libraries, in place, into the form they have on a CPU, triangular solves included. What is
    not known here stays as it is."""
    for op in [*modules.ops_called(CALL, module), *modules.ops_called(SOLVE, module)]:
        with op.location, ir.InsertionPoint(op):
            _replace(op, _solve_of(op) if op.name == SOLVE else _lapack_of(op))


def _replace(op: ir.Operation, made: Sequence[ir.Value | None] | None) -> None:
    """None: leave the op; a result of None: what stands there means nothing."""
    if made is None:
        return
    for old, new in zip(op.results, made, strict=True):
        if new is not None or list(old.uses):
            old.replace_all_uses_with(ops.splat(0, old) if new is None else new)
    op.erase()


def _solve_of(op: ir.Operation) -> list[ir.Value] | None:
    if dtype_of(op.result).name not in LETTERS:
        return None
    told = {n: attr.decode(op.attributes[n]) for n in ("left_side", "lower", "unit_diagonal", "transpose_a")}
    return [lapack_solve(op.operands[0], op.operands[1], **told | {"transpose_a": str(told["transpose_a"])})]


def _lapack_of(op: ir.Operation) -> Sequence[ir.Value | None] | None:
    target = ops.target_of(op)
    if CONFIGURATION not in op.attributes:
        return None             # somebody else's way to write it
    if target in THERE and (name := _lapack_name(THERE[target], op)) is not None:
        return _renamed(op, name, *_to_letters(THERE[target], _settings(op)))
    prefix = next((p for p in VENDORS.values() if target.startswith(p)), "")
    special = {"solver_gesvdj_ffi": _from_jacobi, "solver_gesvd_ffi": _from_gesvd, "solver_geev_ffi": _from_geev,
               "sparse_gtsv2_ffi": _from_gtsv2}.get(target[len(prefix):]) if prefix else None
    return None if special is None else special(op)


def _lapack_name(routine: Routine, op: ir.Operation) -> str | None:
    dtype = dtype_of(op.operands[0])
    stem = routine.complex if is_complex(dtype) else routine.real
    return f"lapack_{LETTERS[dtype.name]}{stem}_ffi" if stem and dtype.name in LETTERS else None


def _settings(op: ir.Operation) -> Settings:
    told = ir.DictAttr(op.attributes[CONFIGURATION]) if CONFIGURATION in op.attributes else ()
    return {each.name: each.attr for each in told}


def _yes(settings: Settings, name: str) -> bool:
    return bool(ir.BoolAttr(settings[name]).value)


def _to_letters(routine: Routine, settings: Settings) -> tuple[Settings, Settings]:
    """What LAPACK's call is told, and what only the other is: where that is not what it always is."""
    found, usual = dict(settings), routine.theirs()
    for name, (theirs, true, false) in routine.flags.items():
        found |= letters(**{name: true if _yes(found, theirs) else false})
        del found[theirs]
    chosen = {name: found.pop(name) for name in usual}
    return found | letters(**routine.ours), {} if chosen == usual else chosen


def _renamed(op: ir.Operation, target: str, settings: Settings, chosen: Settings) -> list[ir.Value]:
    """The same call by another name, with other settings."""
    kept = {name: op.attributes[name] for name in op.attributes if name not in (CHOSEN, VENDOR)}
    kept |= {"call_target_name": attr.string(target), CONFIGURATION: ir.DictAttr.get(settings)}
    kept |= {CHOSEN: ir.DictAttr.get(chosen)} if chosen else {}
    if target.endswith("getrf_ffi") and target.startswith("lapack_"):
        kept[VENDOR] = attr.string(next(p for p in VENDORS.values() if ops.target_of(op).startswith(p)))
    return list(ops.create(CALL, [r.type for r in op.results], list(op.operands), kept).results)


def _from_jacobi(op: ir.Operation) -> list[ir.Value]:
    """Of (a, s, U, V, info), where LAPACK has V^H. No more vectors are made than are read."""
    a, settings = op.operands[0], _settings(op)
    rank, k = len(shape_of(a)), min(shape_of(a)[-2:])
    everything = _yes(settings, "full_matrices") and not (reads_first(op.results[2], rank - 1, k)
                                                          and reads_first(op.results[3], rank - 1, k))
    mode = ("A" if everything else "S") if _yes(settings, "compute_uv") else "N"
    made = _svd("gesdd", a, mode, [r.type for r in op.results], everything or mode == "N")
    u, v = made[2], adjoint(made[3])
    wanted = [shape_of(op.results[i])[-1] for i in (2, 3)]
    made[2:4] = [_widened(x, width) for x, width in zip((u, v), wanted, strict=True)]
    return made


def _svd(name: str, a: ir.Value, mode: str, types: Sequence[ir.Type], full: bool) -> list[ir.Value]:
    (*batch, m, n), dtype = shape_of(a), dtype_of(a)
    k = min(m, n)
    vectors = [tensor_type((*batch, m, m if full else k), dtype), tensor_type((*batch, n if full else k, n), dtype)]
    return library_call(f"lapack_{LETTERS[dtype.name]}{name}_ffi", [a], [*types[:2], *vectors, types[4]],
                        letters(mode=mode), len(batch), 0)


ELEMENT_BY_ELEMENT = {f"stablehlo.{word}" for word in ("real", "imag", "negate", "complex", "select")}


def reads_first(value: ir.Value, dim: int, count: int) -> bool:
    """Whether all that is read of `value` are its first `count` elements along `dim`."""
    return shape_of(value)[dim] <= count or all(_use_reads_first(use.owner.operation, dim, count) for use in value.uses)


def _use_reads_first(op: ir.Operation, dim: int, count: int) -> bool:
    if op.name == "stablehlo.slice":
        return bool(attr.decode(op.attributes["limit_indices"])[dim] <= count)
    if op.name == "stablehlo.transpose":
        dim = list(attr.decode(op.attributes["permutation"])).index(dim)
    elif op.name not in ELEMENT_BY_ELEMENT:
        return False
    return reads_first(op.results[0], dim, count)


def _widened(x: ir.Value, columns: int) -> ir.Value:
    """With columns that nobody reads."""
    shape = shape_of(x)
    return x if shape[-1] == columns else ops.pad(x, 0, [0] * len(shape), [*[0] * (len(shape) - 1),
                                                                          columns - shape[-1]])


def _from_gesvd(op: ir.Operation) -> list[ir.Value | None]:
    """Of (a, s, U, V^H, info); "transposed" says that memory is by rows, and the results' names are exchanged."""
    settings = _settings(op)
    mode = "N" if not _yes(settings, "compute_uv") else "A" if _yes(settings, "full_matrices") else "S"
    name = "gesdd" if max(shape_of(op.operands[0])[-2:]) > JACOBI_UP_TO else "gesvd"
    made = _svd(name, op.operands[0], mode, [r.type for r in op.results], mode != "S")
    vectors = made[3:1:-1] if _yes(settings, "transposed") else made[2:4]
    return [made[0], made[1], *((None, None) if mode == "N" else vectors), made[4]]


def _from_geev(op: ir.Operation) -> list[ir.Value]:
    """cuSOLVER's makes no left vectors, and holds complex ones of a real matrix as LAPACK does in memory: those of a
    pair of eigenvalues as real and imaginary part, the one after the other."""
    a, settings = op.operands[0], _settings(op)
    (*batch, n, _), dtype = shape_of(a), dtype_of(a)
    whole = np.result_type(dtype, np.complex64)
    real = not is_complex(dtype)
    told = letters(compute_left="N", compute_right="V" if _yes(settings, "right") else "N")
    square, line = tensor_type((*batch, n, n), whole), tensor_type((*batch, n), dtype)
    results = [line, *[line] * real, square, square, op.results[4].type]
    made = library_call(f"lapack_{LETTERS[dtype.name]}geev_ffi", [a], results, told, len(batch))
    vectors, info = made[-2], made[-1]
    if not real:
        return [a, made[0], vectors, vectors, info]
    rank = len(batch) + 2
    second = ops.broadcast_in_dim(ops.compare(made[1], 0, "LT"), shape_of(a), [*range(rank - 2), rank - 1])
    packed = ops.select(second, ops.negate(ops.imag(vectors)), ops.real(vectors))
    return [a, ops.complex(made[0], made[1]), packed, packed, info]


def _from_gtsv2(op: ir.Operation) -> list[ir.Value]:
    right = op.operands[3]
    lead = len(shape_of(right)) - 2
    info = tensor_type(shape_of(right)[:lead], np.dtype(np.int32))
    made = library_call(f"lapack_{LETTERS[dtype_of(right).name]}gtsv_ffi", list(op.operands),
                        [*(v.type for v in op.operands), info], {}, lead)
    return [made[3]]


def permutation(pivots: ir.Value, count: int, original: ir.Value) -> ir.Value | None:
    """The order that swaps of `count` rows make, counted from 0, (batch..., count), where the factorization that gave
    `original` will run on a GPU: it has a call for that."""
    made = original.owner
    if isinstance(made, ir.Block) or VENDOR not in made.operation.attributes:
        return None
    lead = shape_of(pivots)[:-1]
    target = f"{attr.decode(made.operation.attributes[VENDOR])}_lu_pivots_to_permutation"
    return library_call(target, [ops.subtract(pivots, 1)], [tensor_type((*lead, count), np.dtype(np.int32))], {},
                        len(lead))[0]


# ---- to it ---------------------------------------------------------------------------------------------------------

def for_gpu(module: ir.Module, vendor: str) -> None:
    """Say calls of LAPACK's routines, in place, as jax says them on a GPU. vendor: a key of `VENDORS`.

    Raises `UnsupportedError` for a routine that no library of a GPU has.
    """
    prefix = VENDORS[vendor]
    for op in list(modules.ops_called(CALL, module)):
        target = ops.target_of(op)
        if not target.startswith("lapack_"):
            continue
        with op.location, ir.InsertionPoint(op):
            if target in HERE:
                _replace(op, _renamed(op, prefix + HERE[target].others, _from_letters(HERE[target], op), {}))
            else:
                _replace(op, _elsewhere(op, target[len("lapack_x"):], prefix))


def for_platform(module: ir.Module, platform: str) -> None:
    """Say calls of LAPACK's routines, in place, as they are said on "cpu", "cuda", "rocm" or another platform.

    Raises `UnsupportedError` for what is not to be had there.
    """
    if platform in VENDORS:
        for_gpu(module, platform)
    elif platform != "cpu":
        without_lapack(module)


def without_lapack(module: ir.Module) -> None:
    """Leave triangular solves, in place, to XLA. Raises `UnsupportedError` for other calls of LAPACK's."""
    for op in list(modules.ops_called(CALL, module)):
        if (target := ops.target_of(op)).startswith("lapack_"):
            if target[len("lapack_x"):] != "trsm_ffi":
                raise _nowhere_else(target, "CPUs and GPUs")
            with op.location, ir.InsertionPoint(op):
                _replace(op, _to_solve(op))


def _elsewhere(op: ir.Operation, routine: str, prefix: str) -> Sequence[ir.Value | None]:
    if routine == "trsm_ffi":
        return _to_solve(op)
    if routine == "gtsv_ffi":
        return _to_gtsv2(op, prefix)
    if routine in ("gesdd_ffi", "gesvd_ffi"):
        return _to_svd(op, prefix, routine == "gesdd_ffi")
    raise _nowhere_else(ops.target_of(op), "CPUs only")


NAMES = {"gees": " (the Schur form of a matrix)", "gehrd": " (the Hessenberg form of a matrix)"}


def _nowhere_else(target: str, places: str) -> UnsupportedError:
    routine = target[len("lapack_x"):].removesuffix("_ffi")
    return UnsupportedError(f"This program needs LAPACK's {routine}{NAMES.get(routine, '')}, which runs on {places}.",
                            hint="Run it inside `with jax.default_device(jax.devices('cpu')[0])`, or do this step "
                                 "apart.", code="needs-cpu")


def _from_letters(routine: Routine, op: ir.Operation) -> Settings:
    found = _settings(op)
    for name, (theirs, true, _) in routine.flags.items():
        found[theirs] = attr.boolean(_letter(found.pop(name)) == true)
    for name in routine.ours:
        del found[name]
    chosen = {each.name: each.attr for each in ir.DictAttr(op.attributes[CHOSEN])} if CHOSEN in op.attributes else {}
    return found | routine.theirs() | chosen


def _letter(code: ir.Attribute) -> str:
    return chr(ir.IntegerAttr(code).value & 255)


def _to_solve(op: ir.Operation) -> list[ir.Value]:
    told = {name: _letter(code) for name, code in _settings(op).items()}
    transposed = next(name for name, letter in TRANSPOSES.items() if letter == told["trans_x"])
    return [ops.triangular_solve(op.operands[0], op.operands[1], left_side=told["side"] == "L",
                                 lower=told["uplo"] == "L", unit_diagonal=told["diag"] == "U", transpose_a=transposed)]


def _to_gtsv2(op: ir.Operation, prefix: str) -> list[ir.Value | None]:
    """That one says nothing of success: what is not finite, of numbers that are, is a zero pivot's."""
    right = op.operands[3]
    lead = len(shape_of(right)) - 2
    (x,) = library_call(f"{prefix}sparse_gtsv2_ffi", list(op.operands), [right.type], {}, lead, 3)
    failed = ops.not_(_finite(x, lead))
    for each in op.operands:
        failed = ops.and_(failed, _finite(each, lead))
    return [None, None, None, x, ops.convert(failed, np.int32)]


def _finite(x: ir.Value, lead: int) -> ir.Value:
    """Of each stack, whether all numbers are."""
    parts = (ops.real(x), ops.imag(x)) if is_complex(dtype_of(x)) else (x,)
    found = [ops.reduce(ops.is_finite(part), True, range(lead, len(shape_of(x))), "and") for part in parts]
    return found[0] if len(found) == 1 else ops.and_(*found)


def _to_svd(op: ir.Operation, prefix: str, jacobi: bool) -> list[ir.Value | None]:
    """By the method that jax chooses for the shape."""
    a, mode = op.operands[0], _letter(_settings(op)["mode"])
    m, n = shape_of(a)[-2:]
    if jacobi and max(m, n) <= JACOBI_UP_TO:
        made = _to_jacobi(a, mode, op, prefix)
    elif m >= n:
        made = _to_gesvd(a, mode, op, prefix)
    else:
        _, s, u, vh, info = _to_gesvd(swapped(a), mode, op, prefix)
        made = [None, s, *((None, None) if mode == "N" else (swapped(vh), swapped(u))), info]
    return [None if mode == "N" and i in (2, 3) else each for i, each in enumerate(made)]


def _to_jacobi(a: ir.Value, mode: str, op: ir.Operation, prefix: str) -> list[ir.Value | None]:
    (*batch, m, n), dtype, k = shape_of(a), dtype_of(a), min(shape_of(a)[-2:])
    economy = mode == "S" and min(m, n) > JACOBI_ECONOMY
    widths = (k, k) if economy else (m, n)
    types = [a.type, op.results[1].type, *(tensor_type((*batch, rows, width), dtype)
                                           for rows, width in zip((m, n), widths, strict=True)), op.results[4].type]
    told = {"compute_uv": attr.boolean(mode != "N"), "full_matrices": attr.boolean(not economy)}
    _, s, u, v, info = library_call(f"{prefix}solver_gesvdj_ffi", [a], types, told, len(batch), 0)
    if mode == "S" and not economy:
        u, v = (ops.slice(x, [0] * (len(batch) + 2), [*shape_of(x)[:-1], k]) for x in (u, v))
    return [None, s, u, adjoint(v), info]


def _to_gesvd(a: ir.Value, mode: str, op: ir.Operation, prefix: str) -> list[ir.Value]:
    (*batch, m, n), dtype = shape_of(a), dtype_of(a)
    k = min(m, n)
    wide = (m, n) if mode == "A" else (k, k)
    vectors = [tensor_type((), dtype)] * 2 if mode == "N" else [tensor_type((*batch, m, wide[0]), dtype),
                                                               tensor_type((*batch, wide[1], n), dtype)]
    told = {"compute_uv": attr.boolean(mode != "N"), "full_matrices": attr.boolean(mode != "S"),
            "transposed": attr.boolean(False)}
    return library_call(f"{prefix}solver_gesvd_ffi", [a], [a.type, op.results[1].type, *vectors, op.results[4].type],
                        told, len(batch), 0)
