"""Numba's host side inside compiled functions: launches are recorded, device arrays are traced arrays.

`register` names what converted code calls instead of `numba.cuda`'s functions. Outside compiled functions, nothing of
Numba changes.
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.frontends.arrays.tensor import Tensor, is_tensor
from reactant.frontends.session import calls
from reactant.frontends.session.trace import is_tracing
from reactant.kernels.launch.launchable import Configured, Launchable
from reactant.kernels.ways_in.numba_cuda import kernel_of

_registered: list[bool] = []


def register() -> None:
    """Done once, when numba.cuda is loaded before a function is compiled."""
    if _registered:
        return
    _registered.append(True)
    from numba import cuda
    from numba.cuda import dispatcher
    from numba.cuda.kernels import reduction

    kernels = dispatcher.CUDADispatcher
    _instead(kernels.__getitem__, lambda kernel, configuration: Launchable(kernel_of(kernel))[configuration])
    _instead(kernels.configure, lambda kernel, *c, **k: Launchable(kernel_of(kernel)).configure(*c, **_shared(k)))
    _instead(kernels.forall, lambda kernel, *c, **k: Launchable(kernel_of(kernel)).forall(*c, **k))
    _instead(dispatcher._LaunchConfiguration.__call__, _launch_configured)
    _instead(dispatcher.ForAll.__call__, lambda forall, *arguments: Launchable(kernel_of(forall.dispatcher)).forall(
        forall.ntasks, forall.thread_per_block, 0, forall.sharedmem)(*arguments))
    for name, replacement in _HOST.items():
        if hasattr(cuda, name):
            _instead(getattr(cuda, name), replacement)
    _instead(reduction._gpu_reduce_factory, reduction._gpu_reduce_factory)      # makes a kernel: Numba's, not converted
    for method in (copy_to_host, copy_to_device, bind, is_c_contiguous, is_f_contiguous):
        setattr(Tensor, method.__name__, method)
        calls.ADDED.add(method.__name__)


def _instead(original: Callable, replacement: Callable) -> None:
    """Converted code calls `replacement` for `original` while a function is traced."""
    def call(*arguments: Any, **keywords: Any) -> Any:
        return (replacement if is_tracing() else original)(*arguments, **keywords)
    calls.REPLACEMENTS[original] = call


def _shared(keywords: dict) -> dict:
    return {"shared" if name == "sharedmem" else name: value for name, value in keywords.items()}


def _launch_configured(configuration: Any, *arguments: Any) -> Any:
    """A launch configuration that was made outside the compiled function."""
    made = Launchable(kernel_of(configuration.dispatcher)).configure(
        configuration.griddim, configuration.blockdim, 0, configuration.sharedmem)
    return Configured.__call__(made, *arguments)


# ---- device arrays ---------------------------------------------------------------------------------------------

def _to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    if to is not None:
        to[...] = obj
        return to
    return np.copy(obj) if is_tensor(obj) else calls.call(np.array, obj)


def _device_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0,
                  **ignored: Any) -> Any:
    return calls.call(np.zeros, shape, dtype, order=order)


def _device_array_like(ary: Any, stream: Any = 0, **ignored: Any) -> Any:
    return calls.call(np.zeros_like, ary)


# methods of device arrays, and views of them: every traced array has them, since it may be one

def copy_to_host(self: Tensor, ary: Any = None, stream: Any = 0) -> Any:
    """A copy; or the contents written into `ary`, which is returned."""
    if ary is None:
        return np.copy(self)        # type: ignore[call-overload]
    copy_to_device(ary, self)
    return ary


def copy_to_device(self: Tensor, ary: Any, stream: Any = 0) -> None:
    """Write the contents of an array into this one. Errors: ValueError where their shapes differ."""
    if np.shape(self) != np.shape(ary):
        raise ValueError(f"An array of shape {np.shape(ary)} is copied into one of shape {np.shape(self)}.")
    calls.call(operator.setitem, self, ..., ary)


def bind(self: Tensor, stream: Any = 0) -> Tensor:
    """The array: streams are one."""
    return self


def is_c_contiguous(self: Tensor) -> bool:
    """As `flags.c_contiguous`."""
    return bool(self.flags.c_contiguous)


def is_f_contiguous(self: Tensor) -> bool:
    """As `flags.f_contiguous`."""
    return bool(self.flags.f_contiguous)


class _Nothing:
    """A stream, an event, a context: there is nothing to wait for in a compiled program."""

    handle = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *exception: Any) -> None:
        return None


def _nothing(*arguments: Any, **keywords: Any) -> Any:
    return _Nothing()


_HOST: dict[str, Callable] = {
    "to_device": _to_device, "device_array": _device_array, "pinned_array": _device_array,
    "mapped_array": _device_array, "managed_array": _device_array, "device_array_like": _device_array_like,
    "pinned_array_like": _device_array_like, "mapped_array_like": _device_array_like,
    "synchronize": lambda: None, "stream": _nothing, "default_stream": _nothing, "event": _nothing,
    "select_device": _nothing, "current_context": _nothing, "close": lambda: None, "is_available": lambda: True,
    "as_cuda_array": lambda obj, sync=True: obj, "is_cuda_array": is_tensor,
    "pinned": _nothing, "defer_cleanup": _nothing, "legacy_default_stream": _nothing,
    "per_thread_default_stream": _nothing, "profile_start": lambda: None, "profile_stop": lambda: None,
}
