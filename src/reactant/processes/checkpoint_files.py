"""What is in the directory of a checkpoint: each array as zarr (version 3), and `tree.json`, which names them all.

An array on a mesh is written in chunks that divide the blocks of its devices, so that no two processes write one file;
it has its own shape there, and no padding. What NumPy knows by no name (bfloat16, float8) is kept as the integers of
its bits.
"""
from __future__ import annotations

import functools
import json
import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from reactant.errors import CheckpointError, ClusterError, in_one_line, translated
from reactant.processes import agreement
from reactant.processes.peers import cluster
from reactant.runtime import shards
from reactant.runtime.array import DeviceArray
from reactant.runtime.meshes import blocks
from reactant.support.records import dataclass

NAMES = "tree.json"
LARGEST = 64 << 20
"""Bytes of a chunk, about: what is read at once where one element is wanted."""
IN_ZARR = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
                    "complex128".split())
NUMBERS: dict[str, Callable[[str], Any]] = {
    "bool": lambda text: text == "True", "int": int, "float": float, "complex": complex, "str": str}


@dataclass(frozen=True)
class Part:
    """A leaf of what is saved. path: how to come to it; kind: "array", "scalar" (of NumPy's), "key" or one of
    `NUMBERS`."""

    path: tuple[tuple[str, Any], ...]
    kind: str
    value: Any
    key: str = ""

    @property
    def name(self) -> str:
        """The path as it is written."""
        return shown(self.path)


def shown(path: Sequence[tuple[str, Any]]) -> str:
    """A path as it is written."""
    return "".join(f".{key}" if kind == "attribute" else f"[{key!r}]" for kind, key in path) or "the state"


def parts_of(tree: Any) -> list[Part]:
    """The leaves of a tree. Raises `CheckpointError` for those that cannot be saved."""
    return [_part(path, leaf) for path, leaf in _leaves(tree)]


def _leaves(tree: Any) -> list[tuple[tuple[tuple[str, Any], ...], Any]]:
    found, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(tuple(map(_step, path)), leaf) for path, leaf in found]


def _step(key: Any) -> tuple[str, Any]:
    if isinstance(key, jax.tree_util.SequenceKey):
        return "index", key.idx
    if isinstance(key, jax.tree_util.GetAttrKey):
        return "attribute", key.name
    if isinstance(key, jax.tree_util.DictKey) and isinstance(key.key, (str, int)):
        return "key", key.key
    return "key", str(key)


def _part(path: tuple[tuple[str, Any], ...], leaf: Any) -> Part:
    if type(leaf).__name__ in NUMBERS and type(leaf) in (bool, int, float, complex, str):
        return Part(path, type(leaf).__name__, leaf)
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return Part(path, "key", jax.random.key_data(leaf), str(jax.random.key_impl(leaf)))
    if isinstance(leaf, (DeviceArray, jax.Array)):
        return Part(path, "array", leaf)
    if isinstance(leaf, (np.ndarray, np.generic)) and np.asarray(leaf).dtype.kind in "biufcV" \
            and np.asarray(leaf).dtype.names is None:
        return Part(path, "array" if isinstance(leaf, np.ndarray) else "scalar", np.asarray(leaf))
    raise CheckpointError(f"{shown(path)} cannot be saved: a {type(leaf).__name__}"
                          + (f" of dtype {leaf.dtype}" if hasattr(leaf, "dtype") else "")
                          + " is no array or number.", hint="Save arrays and numbers.")


def write_together(directory: Path | None, parts: Sequence[Part]) -> None:
    """Write what each process has into a directory that the first one knows; returns when all have. Raises
    `CheckpointError` in all of them where one of them fails, or the first one has no directory (`give_up`)."""
    told = agreement.said_by_first({"directory": None if directory is None else str(directory)})
    if "failure" in told:
        raise _failed(0, told["failure"])
    failure = None
    try:
        write(Path(told["directory"]), parts)
    except Exception as error:
        if isinstance(known := translated(error), ClusterError):
            raise known from None       # what was to be written was never computed
        failure = _said(error)
    for rank, why in enumerate(agreement.said_by_all(failure)):
        if why is not None:
            raise _failed(rank, why)


def give_up(error: Exception) -> CheckpointError:
    """Say to the others, who wait for the first process, that there is nothing to write into; the error to raise."""
    return _failed(0, agreement.said_by_first({"failure": _said(error)})["failure"])


def completed(error: Exception | None) -> None:
    """Hear from the first process whether all that was written is a checkpoint now."""
    failure = agreement.said_by_first(None if error is None else _said(error))
    if failure is not None:
        raise _failed(0, failure)


def _failed(rank: int, why: str) -> CheckpointError:
    return CheckpointError(f"Process {rank} of {jax.process_count()} ({cluster().hosts[rank]}) could not write its "
                           f"part of the checkpoint: {why}. Earlier ones are as they were.", rank,
                           code="checkpoint-not-written")


def write(directory: Path, parts: Sequence[Part]) -> None:
    """Write what this process has of the parts."""
    first, told = jax.process_index() == 0, []
    for number, part in enumerate(parts):
        entry: dict[str, Any] = {"path": part.path, "kind": part.kind}
        if part.kind in NUMBERS:
            entry["value"] = str(part.value)
        else:
            entry |= {"file": f"{number}", "shape": part.value.shape, "dtype": _dtype(part.value).name,
                      "impl": part.key}
            _write_array(directory / f"{number}", part.value, first)
        told.append(entry)
    if first:
        with open(directory / NAMES, "w", encoding="utf-8") as file:
            json.dump(told, file)


def _write_array(file: Path, value: Any, first: bool) -> None:
    buffer = value.buffer if isinstance(value, DeviceArray) else value
    shape, dtype = tuple(value.shape), _dtype(value)
    if 0 in shape:
        return
    divided = not isinstance(buffer, np.ndarray) and isinstance(buffer.sharding, NamedSharding) \
        and not buffer.is_fully_replicated
    if divided:
        sharding = buffer.sharding
        block = tuple(-(-n // k) for n, k in zip(shape, blocks(sharding, len(shape)), strict=True))
        pieces = shards.held(buffer, shape)
    elif isinstance(buffer, np.ndarray) or shards.is_here(buffer):
        block, pieces = shape, [(tuple(slice(0, n) for n in shape), np.asarray(value))] if first else []
    else:
        raise CheckpointError(f"An array with the sharding {buffer.sharding} cannot be saved from several processes.",
                              hint="Put it onto a mesh, reactant.array(x, sharding=mesh.sharding(...)).",
                              code="checkpoint-not-written")
    if not pieces:
        return
    store = _store(file, shape=shape, dtype=dtype, chunk=chunk(block, dtype.itemsize))
    writing = []
    for where, piece in pieces:
        extents = tuple(slice(0, s.stop - s.start) for s in where)
        writing.append(store[where].write(_bits(np.asarray(piece)[extents])))
    for each in writing:
        each.result()


def chunk(block: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """How large the chunks are in which blocks of this shape are written: they divide it, and have no more than
    `LARGEST` bytes where that can be."""
    found = list(block)
    for d in range(len(found)):
        while math.prod(found) * itemsize > LARGEST and found[d] > 1:
            found[d] //= next(k for k in range(2, found[d] + 1) if found[d] % k == 0)
    return tuple(found)


def read(directory: Path, like: Any) -> Any:
    """What was written, in the form of `like`; as dicts and lists where that is None."""
    told = [{**each, "path": tuple((kind, key) for kind, key in each["path"])}
            for each in json.loads((directory / NAMES).read_text(encoding="utf-8"))]
    if like is None:
        return _nested([(each["path"], _read(directory, each, None)) for each in told])
    known = {each["path"]: each for each in told}
    wanted, made = _leaves(like), []
    for path, leaf in wanted:
        if path not in known:
            raise CheckpointError(f"The checkpoint in {directory} has no {shown(path)}; it has "
                                  f"{', '.join(map(shown, known))}.", hint="Ask for something that it has.",
                                  code="checkpoint-contents")
        made.append(_read(directory, known[path], leaf))
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(like), made)


def _read(directory: Path, told: dict[str, Any], like: Any) -> Any:
    if (kind := told["kind"]) in NUMBERS:
        return NUMBERS[kind](told["value"])
    shape, dtype = tuple(told["shape"]), np.dtype(told["dtype"])
    has = getattr(like, "shape", shape), getattr(like, "dtype", dtype)
    if kind != "key" and not isinstance(like, NamedSharding) and has != (shape, dtype):
        raise CheckpointError(f"{shown(told['path'])} was saved as {dtype.name}{list(shape)} and is wanted as "
                              f"{np.dtype(has[1]).name}{list(has[0])}.",
                              hint="Ask for it as it was saved, and convert afterwards.", code="checkpoint-contents")
    if 0 in shape:
        def part(where: tuple[slice, ...]) -> np.ndarray:
            return np.zeros([s.stop - s.start for s in where], dtype)
    else:
        store = _store(directory / told["file"])

        def part(where: tuple[slice, ...]) -> np.ndarray:
            return np.asarray(store[where].read().result()).view(dtype)
    place = like if isinstance(like, NamedSharding) else getattr(like, "sharding", None)
    if kind == "key":
        return jax.random.wrap_key_data(part(tuple(slice(0, n) for n in shape)), impl=told["impl"])
    if place is None:
        whole = part(tuple(slice(0, n) for n in shape))
        return whole[()] if kind == "scalar" else np.array(whole)
    if not isinstance(place, NamedSharding):
        made = jax.device_put(part(tuple(slice(0, n) for n in shape)), place)
        return DeviceArray(made) if isinstance(like, DeviceArray) else made
    made = shards.from_callback(part, dtype, shape, place)
    if isinstance(like, (DeviceArray, NamedSharding)):
        return DeviceArray(made, shape)
    return made if made.shape == shape else shards.without_padding(made, shape)


def _nested(leaves: Sequence[tuple[tuple[tuple[str, Any], ...], Any]]) -> Any:
    """A tree of dicts and lists with these leaves."""
    if len(leaves) == 1 and not leaves[0][0]:
        return leaves[0][1]
    groups: dict[tuple[str, Any], list] = {}
    for (step, *rest), leaf in leaves:
        groups.setdefault(step, []).append((tuple(rest), leaf))
    made = {key: _nested(found) for (_, key), found in groups.items()}
    return list(made.values()) if groups and all(kind == "index" for kind, _ in groups) else made


def _dtype(value: Any) -> np.dtype:
    return np.dtype(value.dtype).newbyteorder("=")


def _bits(piece: np.ndarray) -> np.ndarray:
    piece = np.asarray(piece, _dtype(piece), order="C")
    return piece if piece.dtype.name in IN_ZARR else piece.view(f"u{piece.dtype.itemsize}")


def _store(file: Path, *, shape: Sequence[int] | None = None, dtype: np.dtype | None = None,
           chunk: Sequence[int] | None = None) -> Any:
    """A file of an array, opened; made, where a shape is given."""
    import tensorstore as ts
    told: dict[str, Any] = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{file}/"}}
    if shape is None or dtype is None:
        return ts.open(told, open=True, read=True, write=False).result()
    name = dtype.name if dtype.name in IN_ZARR else f"uint{8 * dtype.itemsize}"
    told |= {"metadata": {"shape": list(shape), "data_type": name,
                          "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk or shape)}}},
             "store_data_equal_to_fill_value": True}
    return ts.open(told, open=True, create=True).result()


@functools.cache
def orbax() -> Any:
    """The package. Raises `CheckpointError` where it is missing."""
    try:
        import orbax.checkpoint as ocp
    except ImportError as missing:
        raise CheckpointError(f"Checkpoints need orbax-checkpoint ({missing}).",
                              hint="Install it: pip install \".[cluster]\".", code="checkpoint-setup") from None
    return ocp


@functools.cache
def for_orbax() -> SimpleNamespace:
    """What orbax-checkpoint is told of our files: a handler, and what it is given."""
    ocp = orbax()
    handlers: Any = ocp.CheckpointHandler
    arguments: Any = ocp.args.CheckpointArgs

    class Handler(handlers):
        def save(self, directory: Any, args: Any) -> None:
            write_together(Path(directory), args.parts)

        def restore(self, directory: Any, args: Any = None) -> Any:
            return read(Path(directory), None)

        def finalize(self, directory: Any) -> None:
            pass

        def close(self) -> None:
            pass

    @ocp.args.register_with_handler(Handler, for_save=True, for_restore=True)
    @dataclass
    class Parts(arguments):
        parts: Any = None

    return SimpleNamespace(Handler=Handler, Parts=Parts)


def _said(error: Exception) -> str:
    """What went wrong, in a line; of tensorstore's account of where it came to that, what the system said."""
    by_system = re.search(r"\[os_error_code='(\d+)'", str(error))
    file = re.search(r'"(/[^"]+)"', str(error))
    if by_system and file:
        return f"{os.strerror(int(by_system[1]))}: {file[1]}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror + (f": {error.filename}" if error.filename else "")
    return f"{type(error).__name__}: {(in_one_line(error).strip().splitlines() or [''])[0]}"
