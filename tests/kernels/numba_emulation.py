"""Numba-CUDA host programs on a machine without a GPU: device arrays are NumPy arrays, launches are ours."""
from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
from numba import cuda
from numba.cuda import dispatcher
from numba.cuda.cudadrv import devices

import reactant


class DeviceArray(np.ndarray):
    """What `cuda.to_device` gives."""

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> np.ndarray:
        if ary is None:
            return np.array(self)
        ary[...] = self
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        self[...] = ary


def _device(x: Any, *more: Any, **options: Any) -> DeviceArray:
    return np.array(x, copy=True).view(DeviceArray)


def _made(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0) -> DeviceArray:
    return np.zeros(shape, dtype, order=order).view(DeviceArray)


class _Context:
    compute_capability = (8, 0)

    def __getattr__(self, name: str) -> Any:
        return _Context()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return _Context()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: Any) -> None:
        return None


@contextlib.contextmanager
def emulated(**options: Any) -> Iterator[None]:
    """Inside, launches of `cuda.jit` kernels run by `reactant.kernel(k, **options)`."""
    def call(kernel: Any, arguments: tuple, configuration: Any) -> None:
        unwrapped = [getattr(a, "value", a) if type(a).__name__ in ("In", "Out", "InOut") else a for a in arguments]
        reactant.kernel(kernel, **options)[configuration.griddim, configuration.blockdim, 0,
                                           configuration.sharedmem](*unwrapped)

    def forall(self: Any, *arguments: Any) -> None:
        if self.ntasks:
            reactant.kernel(self.dispatcher, **options).forall(self.ntasks, self.thread_per_block, 0,
                                                               self.sharedmem)(*arguments)
    replaced = {"to_device": _device, "device_array": _made, "pinned_array": _made, "synchronize": lambda: None,
                "device_array_like": lambda x, stream=0: np.zeros_like(x).view(DeviceArray),
                "stream": _Context(), "default_stream": _Context(), "event": _Context(), "current_context": _Context(),
                "is_available": lambda: True}
    with contextlib.ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in replaced.items():
            stack.enter_context(mock.patch.object(cuda, name, function))
        stack.enter_context(mock.patch.object(devices, "get_context", _Context()))
        stack.enter_context(mock.patch.object(dispatcher.CUDADispatcher, "call", call))
        stack.enter_context(reactant.cuda.without_gpu())
        stack.enter_context(mock.patch.object(dispatcher.ForAll, "__call__", forall))
        yield
