"""What programs depend on of objects of jax and of Numba-CUDA that their functions can reach."""
from __future__ import annotations

import sys
from typing import Any

import jax

from reactant.cache import walk
from reactant.cache.replaced import is_elsewhere
from reactant.calling import signature as sig
from reactant.runtime.jax_internals import PYTREES, PjitFunction, Primitive, foreign_rules


def can_tell(kind: type) -> bool:
    """Whether jax takes objects of a class apart in a way that is known."""
    return kind in (tuple, list, dict, type(None)) or kind in PYTREES or issubclass(kind, tuple)


def _tree(tree: Any) -> tuple | None:
    """What a `PyTreeDef` depends on; None where it has nodes whose functions jax keeps to itself."""
    data = tree.node_data()
    if data is not None and not can_tell(data[0]):
        return None
    return (None if data is None else (data[0], data[1]), *tree.children())


def _of_jit(function: Any) -> tuple | None:
    """What a function under `jax.jit` depends on; None where it says where arrays lie."""
    info = function._jit_info
    if info.user_specified_in_shardings or info.device is not None or info.backend is not None or any(
            type(leaf).__name__ != "UnspecifiedValue" for leaf in info.out_shardings_leaves) or any(
            leaf is not None for leaf in (*info.in_layouts_leaves, *info.out_layouts_leaves)):
        return None
    return (function._fun, info.static_argnums, info.static_argnames, info.donate_argnums, info.donate_argnames,
            info.keep_unused, info.inline, info.compiler_options_kvs)


walk.NODES.append(PYTREES)
walk.ALSO["jax"] = lambda: foreign_rules(is_elsewhere)
walk.SPECIAL[sig.Static] = lambda x: (x.value,)
walk.SPECIAL[type(jax.tree_util.tree_structure(0))] = _tree
walk.SPECIAL[PjitFunction] = _of_jit
walk.SPECIAL[Primitive] = lambda primitive: None        # jax has its rules, by the object


def learn_kernels() -> None:
    """Let the walk know what launches of Numba-CUDA kernels and functions of Numba depend on, where they are loaded."""
    if (registry := sys.modules.get("numba.core.registry")) is not None:
        walk.SPECIAL.setdefault(registry.CPUDispatcher, lambda x: (x.py_func, sorted(x.targetoptions.items())))
    numba = sys.modules.get("numba.cuda.dispatcher")
    if numba is None or numba.CUDADispatcher in walk.SPECIAL:
        return
    walk.SPECIAL[numba.CUDADispatcher] = _of_kernel
    walk.SPECIAL[numba._LaunchConfiguration] = lambda x: (x.dispatcher, x.griddim, x.blockdim, x.sharedmem)
    walk.SPECIAL[numba.ForAll] = lambda x: (x.dispatcher, x.ntasks, x.thread_per_block, x.sharedmem)


def _of_kernel(dispatcher: Any) -> tuple | None:
    """What a kernel or device function of Numba-CUDA depends on; None where it is linked with files, or extended."""
    options = dict(dispatcher.targetoptions)
    if options.pop("link", None) or options.pop("extensions", None):
        return None
    settings = [(name, value) for module in ("numba.core.config", "numba.cuda.core.config")
                for name, value in sorted(vars(sys.modules.get(module)).items())
                if name.isupper() and type(value) in (bool, int, float, str, type(None))]
    declared = [str(signature) for signature, found in dispatcher.overloads.items()
                if type(found).__name__ == "_Declared"]
    return dispatcher.py_func, sorted(options.items()), settings, declared
