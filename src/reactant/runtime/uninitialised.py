"""XLA buffers with nothing written into them yet, for results to be donated into.

Only XLA's own buffers can be donated, and everything XLA computes touches its memory; except a custom call that leaves
its result alone. The handler is a Python function behind XLA's foreign function interface, whose C structures
(`xla/ffi/api/c_api.h`, a stable binary interface) are declared here as far as they are read.
"""
from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any

import jax
import numpy as np

from reactant.runtime.buffers import advise_huge_pages
from reactant.runtime.jax_internals import X64, synchronous_cpu
from reactant.runtime.program import Array

TARGET = "reactant_uninitialised"
_METADATA_EXTENSION = 1
_VERSION_MAJOR, _VERSION_MINOR = 0, 1


class _ExtensionBase(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p)]


class _ApiVersion(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p),
                ("major_version", ctypes.c_int), ("minor_version", ctypes.c_int)]


class _Metadata(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("api_version", _ApiVersion), ("traits", ctypes.c_uint32)]


class _MetadataExtension(ctypes.Structure):
    _fields_ = [("extension_base", _ExtensionBase), ("metadata", ctypes.POINTER(_Metadata))]


class _CallFrame(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.POINTER(_MetadataExtension))]


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_CallFrame))
def _leave_alone(frame: Any) -> None:
    """Answer XLA's question for the interface's version; else do nothing. None is success."""
    extension = frame.contents.extension_start
    if extension and extension.contents.extension_base.type == _METADATA_EXTENSION:
        metadata = extension.contents.metadata.contents
        metadata.api_version.major_version = _VERSION_MAJOR
        metadata.api_version.minor_version = _VERSION_MINOR
        metadata.traits = 0


_REGISTRATION = threading.Lock()


@cache
def _register() -> None:
    address = ctypes.cast(_leave_alone, ctypes.c_void_p)
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(address), platform="cpu")


@cache
def _maker(shape: tuple[int, ...], dtype: np.dtype) -> jax.stages.Compiled:
    with _REGISTRATION:
        _register()
    here = jax.sharding.SingleDeviceSharding(synchronous_cpu())
    with X64():
        return jax.jit(lambda: jax.ffi.ffi_call(TARGET, jax.ShapeDtypeStruct(shape, dtype))(),
                       out_shardings=here).lower().compile()


def fresh_buffer(array: Array) -> jax.Array:
    """A new CPU buffer of undefined contents, advised to use huge pages before anything touches it."""
    with X64():
        buffer: jax.Array = _maker(array.shape, array.dtype)()
    buffer.block_until_ready()
    advise_huge_pages(buffer)
    return buffer
