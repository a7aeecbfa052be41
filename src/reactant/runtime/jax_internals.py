"""What the runtime needs of jax beyond its public interface; nothing else in `runtime` imports private names.

Checked against jax 0.10.1, 0.10.2 and 0.11.2; not 0.10.0, whose MLIR frees memory twice when it merges equal ops that
have regions (`cse`):
- `jax._src.config.enable_x64` with `swap_local`/`set_local`, the thread-local half of `jax.enable_x64`: four times
  cheaper than the context manager, which matters on a 6 us call;
- `trace_context` of the same module: the settings that a traced program depends on, as one key;
- `trace_state_strong_ref` and `eval_trace` of `jax._src.core`: which transformation is at work in this thread,
  and what stands there where none is; `trace_state_clean`, which asks for them, takes twice as long;
- `_post_hook_state` of `jax._src.api`: what checks results where `jax.debug_nans` or `debug_infs` is on, else None;
- `jax.stages.Compiled._call`, which jax sets at the first call: its call in C++, 0.2 us shorter than `__call__`;
- `jaxlib._jax.pjit`, of which such a call is made: it looks up the shapes, dtypes, devices and settings of a call in
  C++ and asks Python, by `_cache_miss`, only about those that are new (`JitGlobalCppCacheKeys` and `cc_shard_arg` of
  `jax._src.interpreters.pxla` and `dispatch_registry` of `jax._src.tree_util` are among its arguments);
- `jax._src.interpreters.mlir.refine_polymorphic_shapes`: sizes of exported programs that are told at the call;
- `ShapedArray.manual_axis_type`: along which axes of a mesh a value differs, inside `jax.shard_map`;
- `jaxlib.xla_client.make_cpu_client`, for a CPU client of our own;
- `jaxlib.lapack._lapack.initialize`, `jaxlib.gpu_solver.initialize_hybrid_kernels`, without which calls of LAPACK, on
  a CPU and from programs of a GPU, end the process;
- `jax._src.clusters.ClusterEnv.auto_detect_unset_distributed_params`: what `jax.distributed.initialize` asks of the
  environment; `jax._src.distributed.global_state` and `jaxlib._jax.get_distributed_runtime_client`, of which it makes
  the rest: it starts jax's coordination service in the first process, whose death then ends all others in C++
  (`processes/service.py` has it in a process of its own, by `jaxlib._jax.get_distributed_runtime_service`);
- `jax._src.xla_bridge.backends_are_initialized`: whether there are devices yet, after which nothing can be joined;
- `jax._src.tree_util._registry`: the functions by which classes of the user are taken apart as nodes of trees;
- `jax._src.compiler.compile_or_get_cached`, through which jax compiles: it gives an executable of the compile cache;
- `jax._src.core.Primitive`, which is public as `jax.extend.core.Primitive`: that package loads Pallas, 20 ms.
"""
from __future__ import annotations

import enum
import functools
import inspect
import threading
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jaxlib
import numpy as np
from jax._src import api as _api  # private: what is to be done after calls
from jax._src import clusters as _clusters  # private: what is asked of the environment of a process
from jax._src import compiler as _compiler  # private: where jax gets executables from
from jax._src import config as _config  # private: thread-local 64-bit switch
from jax._src import core as _core  # private: whether a transformation is at work
from jax._src import distributed as _distributed  # private: the other processes
from jax._src import tree_util as _tree_util  # private: which classes are nodes of trees
from jax._src import xla_bridge as _xla_bridge  # private: whether jax has started
from jax._src.interpreters import ad as _ad  # private: rules of primitives
from jax._src.interpreters import batching as _batching  # private: rules of primitives
from jax._src.interpreters import mlir as _mlir  # private: what jax does to programs before XLA
from jax._src.interpreters import pxla as _pxla  # private: what calls in C++ are made of
from jaxlib import _jax  # private: the client of the coordination service
from jaxlib import gpu_solver as _gpu_solver  # private: what jax does when it lowers eig for a GPU
from jaxlib import lapack as _lapack  # private: what jax does when it lowers linear algebra
from jaxlib import xla_client as _xla_client  # private: clients are jax's to make

if jaxlib.__version__ == "0.10.0":  # pragma: no cover - refused by our requirements, but pip can be overruled
    raise ImportError("jaxlib 0.10.0 corrupts memory when equal operations are merged. Install 0.10.1 or newer: "
                      "pip install -U jax jaxlib")
try:
    swap_x64 = _config.enable_x64.swap_local
    restore_x64 = _config.enable_x64.set_local
    trace_context = _config.trace_context
    transformation = _core.trace_state_strong_ref
    NO_TRANSFORMATION = _core.eval_trace
    after_calls = _api._post_hook_state
    nothing_traced = _core.trace_state_clean
    Primitive = _core.Primitive
    with_known_shapes = _mlir.refine_polymorphic_shapes
    PYTREES = _tree_util._registry
    _RULES = {"jvp": _ad.primitive_jvps, "transpose": _ad.primitive_transposes,
              "batch": _batching.fancy_primitive_batchers, "lowering": _mlir._lowerings}
    _Lowering: Any = _mlir.LoweringRuleEntry
    _LEAF = _tree_util.dispatch_registry.flatten(0)[1]
    PjitFunction: type[Any] = type(jax.jit(lambda: None))      # of what `jax.jit` returns
    initialize_lapack = _lapack._lapack.initialize
    initialize_hybrid_kernels = _gpu_solver.initialize_hybrid_kernels
    _make_cpu_client = _xla_client.make_cpu_client
    _processes = _distributed.global_state
    has_started = _xla_bridge.backends_are_initialized
    _detect_processes = _clusters.ClusterEnv.auto_detect_unset_distributed_params
    _client_of_service = _jax.get_distributed_runtime_client
except AttributeError as missing:  # pragma: no cover - only with a jax we do not know
    raise ImportError(
        f"reactant does not know this jax ({jax.__version__}): {missing}. Install jax 0.10 or 0.11."
    ) from missing


def plain_context() -> tuple | None:
    """The settings that jax has in this thread, as far as programs depend on them; None where there is more to it: the
    axes or the mesh of something that is being traced, or a context of the user's."""
    found: list[Any] = []
    for each in trace_context():
        if isinstance(each, enum.Enum):
            found.append(str(each))
        elif each is None or isinstance(each, (bool, int, float, str)) or each == ():
            found.append(each)
        elif type(each).__name__ != "AxisEnv" or each.axis_sizes or each.spmd_axis_names or \
                each.explicit_mesh_axis_names:
            return None
    return tuple(found)


def foreign_rules(is_foreign: Callable[[Any], bool]) -> list[tuple[str, str, Any]]:
    """The functions of somebody else in the rules of jax's primitives: (kind, primitive, function). is_foreign: whether
    a function is."""
    found = []
    for kind, table in _RULES.items():
        functions = _functions_in(table.values())
        if any(map(is_foreign, {each.__code__.co_filename: each for each in functions}.values())):
            found += [(kind, str(primitive), each) for primitive, rule in table.items()
                      for each in _functions_in((rule,)) if is_foreign(each)]
    return found


DEPTH = 4
"""How far functions of rules are looked for in what the rules were made of."""


def _functions_in(rules: Iterable[Any]) -> list[Any]:
    """Functions among rules, and in what those were made of."""
    functions, waiting = [], list(rules)
    for _ in range(DEPTH):
        inner: list[Any] = []
        for x in waiting:
            kind = type(x)
            if kind is types.FunctionType:
                functions.append(x)
                if x.__closure__ is not None:
                    inner += _contents(x.__closure__)
            elif kind is functools.partial:
                inner.append(x.func)
                inner += x.args
                if x.keywords:
                    inner += x.keywords.values()
            elif kind is tuple or kind is list:
                inner += x
            elif kind is _Lowering:
                inner.append(x.rule)
        waiting = inner
    return functions


def _contents(closure: tuple[types.CellType, ...]) -> list[Any]:
    try:
        return [cell.cell_contents for cell in closure]
    except ValueError:          # one of them is not bound yet
        return []


def tree_of(data: tuple[type, Any] | None, children: Sequence[Any]) -> Any:
    """A `PyTreeDef` of what its `node_data` and `children` give."""
    return _LEAF if data is None else type(_LEAF).from_node_data_and_children(_tree_util.default_registry, data,
                                                                            list(children))


class _Instead(threading.local):
    """An executable as bytes that the next compilation of this thread gives, and whether it did."""

    data: bytes | None = None


_INSTEAD = _Instead()


@functools.cache
def _installed() -> bool:
    """Have jax ask for an executable before it compiles one; whether this jax can be told."""
    compile_ = _compiler.compile_or_get_cached
    names = inspect.signature(compile_)
    if not {"backend", "compile_options", "executable_devices"} <= names.parameters.keys():
        return False

    @functools.wraps(compile_)
    def found(*args: Any, **kwargs: Any) -> Any:
        data, _INSTEAD.data = _INSTEAD.data, None
        if data is None:
            return compile_(*args, **kwargs)
        told = names.bind(*args, **kwargs).arguments
        return told["backend"].deserialize_executable(data, told["executable_devices"], told["compile_options"])

    _compiler.compile_or_get_cached = found
    return True


def compiled_as(lowered: Any, data: bytes) -> Any:
    """What `lowered.compile()` gives, with an executable that was compiled before in the place of its own.

    Raises what jaxlib raises where it does not take the bytes; `RuntimeError` where jax is one that cannot be told."""
    if not _installed():
        raise RuntimeError("this jax compiles in a way that is not known")
    _INSTEAD.data = data
    try:
        return lowered.compile()
    finally:
        _INSTEAD.data = None


def serialized(compiled: Any) -> bytes | None:
    """The executable of a `jax.stages.Compiled` as bytes; None where the backend has no form of that."""
    executable = compiled.runtime_executable()
    try:
        return bytes(executable.serialize() if hasattr(executable, "serialize")
                     else executable.client.serialize_executable(executable))
    except Exception:       # jaxlib's errors have no common class
        return None


def call_of(compiled: Any) -> Callable[..., list[Any]]:
    """The call of a `jax.stages.Compiled` that has been called before."""
    found: Callable[..., list[Any]] | None = getattr(compiled, "_call", None)
    return compiled.__call__ if found is None else found


class NotFitting(Exception):
    """The arguments of a call are of another kind than the program takes."""


def checked_call(compiled: Any, fits: Callable[[tuple], bool], alone: bool) -> Callable[..., Any] | None:
    """The call of a `jax.stages.Compiled` that has been called before, for arguments for which `fits` holds.

    fits: asked of the first call with arguments of certain shapes, dtypes and devices under certain settings of jax and
    in a certain transformation; C++ recognises those after it. Where it does not hold, `NotFitting` is raised. alone:
    the only result is returned, and no list of it. None where this jax has no such call.
    """
    try:
        by_jax = compiled._call._cache_miss

        def missed(*arguments: Any) -> Any:
            if not fits(arguments):
                raise NotFitting
            results, how, again = by_jax(*arguments)
            if not alone:
                return results, how, again
            return results[0], how and how._replace(out_pytree_def=_LEAF), again

        made: Callable[..., Any] = _jax.pjit(
            "program", None, missed, [], [], _pxla.JitGlobalCppCacheKeys(), _tree_util.dispatch_registry,
            _pxla.cc_shard_arg)
    except (AttributeError, TypeError):  # pragma: no cover - only with a jax we do not know
        return None
    return made


def apart(array: Any) -> Any:
    """The same memory as another object, where jax's Python takes it in 64 bits: as long as something of jax's uses an
    array that it took in 32, it takes that array for what it made of it."""
    return array.view() if type(array) is np.ndarray else array


def varying_axes(values: Sequence[Any]) -> frozenset[str]:
    """The axes of a mesh along which some of several values (or types of values) differ, inside `jax.shard_map`."""
    types = [v if isinstance(v, jax.core.ShapedArray) else jax.typeof(v) for v in values]
    return frozenset().union(*(t.manual_axis_type.varying for t in types))


def alike_varying(arrays: list[Any]) -> list[Any]:
    """The same arrays, all of them with the axes of a mesh along which one of them differs: for JAX, which adds up the
    cotangents of the others."""
    axes = varying_axes(arrays) if any(isinstance(a, jax.core.Tracer) for a in arrays) else None
    if not axes:
        return arrays
    return [jax.lax.pcast(a, missing, to="varying") if (missing := tuple(axes - varying_axes([a]))) else a
            for a in arrays]


def linearized_by(primitive: Any, rule: Callable[..., Any]) -> None:
    """Tell JAX what value and linear part of `primitive` are together, `rule(otherwise, nonzero, *primals, **params)`,
    where cotangents are wanted. `otherwise` is what JAX would do. Nothing where this jax has another interface."""
    fallback = getattr(_ad, "fallback_linearize_rule", None)
    if fallback is None or [*inspect.signature(fallback).parameters][:3] != ["_prim", "_is_vjp", "_nonzeros"]:
        return

    def linearized(is_vjp: bool, nonzero: Sequence[bool], *primals: Any, **params: Any) -> Any:
        otherwise = functools.partial(fallback, primitive, is_vjp, nonzero, *primals, **params)
        return rule(otherwise, nonzero, *primals, **params) if is_vjp else otherwise()

    _ad.primitive_linearizations[primitive] = linearized


def result_type(shape: tuple[int, ...], dtype: np.dtype, given: Sequence[Any], weak: bool = False) -> Any:
    """The type of a result of operands of the types `given`, all of which vary along the same axes of a mesh."""
    if not given or not varying_axes(given):
        return jax.core.ShapedArray(shape, dtype, weak_type=weak)
    like = given[0]
    whole = jax.sharding.NamedSharding(like.sharding.mesh, jax.sharding.PartitionSpec(*(None for _ in shape)))
    return jax.core.ShapedArray(shape, dtype, weak_type=weak, sharding=whole, manual_axis_type=like.manual_axis_type)


class X64:
    """`with X64():` makes jax 64-bit in this thread until the end, whatever the user's setting."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = swap_x64(True)

    def __exit__(self, *_: object) -> None:
        restore_x64(self._before)


_clients: list[object] = []
_lock = threading.Lock()


def synchronous_cpu(index: int = 0) -> jax.Device:
    """A CPU device that runs programs in the calling thread.

    jax's own CPU client hands every program of more than about 1000 operations to another thread. A call that waits for
    its results anyway pays for that: `a * 2 + b` on 4096 float64 takes 19 us instead of 8, on a busy machine 35 instead
    of 9. Whether a client does so is fixed when it is made, so the calls that return NumPy arrays have one of their
    own. Nothing of jax's is changed; buffers of one client are foreign to the other.
    """
    with _lock:
        if not _clients:
            _clients.append(_make_cpu_client(asynchronous=False))
        devices = _clients[0].local_devices()  # type: ignore[attr-defined]
    return devices[index if index < len(devices) else 0]


def store_of_processes() -> Any:
    """The client of the coordination service, a store of keys among other things; None where there is one process."""
    return _processes.client


def joined_processes() -> tuple[str, int, int] | None:
    """Where the first process is, how many there are, and which one this is, where the program has joined them."""
    if _processes.client is None:
        return None
    return _processes.coordinator_address, _processes.num_processes, _processes.process_id


def processes_of_environment(timeout: int) -> tuple[str | None, int | None, int | None, Sequence[int] | None]:
    """Where the first process is, how many there are, which one this is and which devices of its machine it has, as
    SLURM, Open MPI, Kubernetes or TPU pods tell."""
    found: tuple[str | None, int | None, int | None, Sequence[int] | None] = _detect_processes(
        None, None, None, None, None, timeout)
    return found


def join_processes(address: str, count: int, rank: int, devices: Sequence[int] | None, *, silence: int,
                   timeout: int) -> None:
    """Become one of several processes: as `jax.distributed.initialize`, with a service that runs elsewhere. silence:
    seconds without a sign of life after which the service takes this process for lost."""
    jax.config.update("jax_enable_recoverability", True)
    if devices:
        shown = ",".join(map(str, devices))
        jax.config.update("jax_cuda_visible_devices", shown)
        jax.config.update("jax_rocm_visible_devices", shown)
    _processes.coordinator_address, _processes.num_processes, _processes.process_id = address, count, rank
    _processes.client = _client_of_service(address, rank, init_timeout=timeout, use_compression=True,
                                           heartbeat_timeout=silence, shutdown_timeout=5)
    _processes.client.connect()
    _processes.initialize_preemption_sync_manager()
