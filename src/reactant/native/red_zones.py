"""Calls through XLA's foreign function interface with red zones around every buffer, for checked native code.

`guarded(handler, name)` is a handler that runs another one on copies of its buffers. Before and after each copy are
bytes that must be the same afterwards, and beyond them pages that nobody may touch; what is no result must not change.
Results begin as bytes that are no sensible numbers, so that what nobody wrote shows.
"""
from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
from jaxlib.cpu import _lapack
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import context, modules
from reactant.native import bounds, ffi, support

_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_EXECUTE, _INTERNAL = 3, 13
_NOTHING, _READ_WRITE = 0, 3
"""What may be done with pages."""
_LAPACK, _GUARDED = "lapack_", "reactant.guarded."
_kept: list[Any] = []
"""XLA holds addresses of handlers for good."""


def guarded(address: int, name: str, explain: Callable[[str], str] | None = None) -> int:
    """The address of a handler that runs the one at `address` between red zones. explain: says more about an error."""
    real = _HANDLER(address)

    def handle(frame: int) -> int | None:
        call = _Call(frame)
        if call.asks:
            return real(frame)
        found = call.between_zones(real, name)
        if found is None and call.error and explain is not None:
            said = call.message()
            more = explain(said)
            found = more if more != said else None
        return call.failed(found) if found else call.error or None
    made = _HANDLER(handle)
    _kept.extend((made, real))
    return ctypes.cast(made, ctypes.c_void_p).value or 0


class _Buffer:
    """One of XLA's buffers: where its description is, where the data are, how many bytes."""

    def __init__(self, place: int) -> None:
        at = _offsets("XLA_FFI_Buffer")
        rank, dims = _word(place + at["rank"]), _word(place + at["dims"])
        self.pointer, width = place + at["data"], support.width_of(_int(place + at["dtype"]))
        self.data = _word(self.pointer)
        self.nbytes = int(np.prod([_word(dims + 8 * k) for k in range(rank)], dtype=np.int64)) * width


class _Zone:
    """Memory with a red zone on both sides."""

    def __init__(self, nbytes: int) -> None:
        page, self.nbytes = mmap.PAGESIZE, nbytes
        inner = -(-nbytes // page) * page + 2 * page
        self.mapping = mmap.mmap(-1, inner + 2 * page)
        self.whole = np.frombuffer(self.mapping, np.uint8)
        self.begin = 2 * page
        self.address = self.whole.ctypes.data + self.begin
        self.whole[page:-page] = bounds.FILLING
        self.ends = (self.whole.ctypes.data, self.whole.ctypes.data + inner + page)
        for end in self.ends:
            _protect(end, _NOTHING)

    @property
    def data(self) -> np.ndarray:
        return self.whole[self.begin:self.begin + self.nbytes]

    def broken(self) -> str | None:
        """Which bytes beside the memory have changed, if any have."""
        page, end = mmap.PAGESIZE, self.begin + self.nbytes
        before, after = self.whole[page:self.begin], self.whole[end:-page]
        for zone, start in ((before, page - self.begin), (after, self.nbytes)):
            if (zone != bounds.FILLING).any():
                return f"byte {start + int(np.flatnonzero(zone != bounds.FILLING)[0])}"
        return None

    def close(self) -> None:
        for end in self.ends:
            _protect(end, _READ_WRITE)


class _Call:
    """A call frame of XLA's."""

    def __init__(self, frame: int) -> None:
        at = _offsets("XLA_FFI_CallFrame")
        self.frame, self.api, self.error = frame, _word(frame + at["api"]), 0
        self.asks = bool(_word(frame + at["extension_start"])) or _int(frame + at["stage"]) != _EXECUTE
        self.operands = self._buffers(frame + at["args"], "XLA_FFI_Args", "args")
        self.results = self._buffers(frame + at["rets"], "XLA_FFI_Rets", "rets")

    def _buffers(self, place: int, struct: str, field: str) -> list[_Buffer]:
        if self.asks:
            return []
        at = _offsets(struct)
        table = _word(place + at[field])
        return [_Buffer(_word(table + 8 * k)) for k in range(_word(place + at["size"]))]

    def between_zones(self, real: Callable[[int], int | None], name: str) -> str | None:
        """Run the handler on copies; what it did that it must not, if anything."""
        zones: dict[int, _Zone] = {}
        both = [*self.operands, *self.results]
        for buffer in both:
            if buffer.data not in zones or zones[buffer.data].nbytes < buffer.nbytes:
                zones[buffer.data] = _Zone(buffer.nbytes)
        written = {buffer.data for buffer in self.results}
        kept = {}           # not the originals: lent memory has neighbours, which others may change meanwhile
        for buffer in self.operands:
            _copy(buffer.data, zones[buffer.data].address, buffer.nbytes)
            if buffer.data not in written:
                kept[buffer.data] = zones[buffer.data].data.copy()
        for buffer in both:
            _set_word(buffer.pointer, zones[buffer.data].address)
        try:
            self.error = real(self.frame) or 0
            found = self._damage(zones, kept, name)
        finally:
            for buffer in both:
                _set_word(buffer.pointer, buffer.data)
            for buffer in self.results:
                _copy(zones[buffer.data].address, buffer.data, buffer.nbytes)
            for zone in zones.values():
                zone.close()
        return found

    def _damage(self, zones: dict[int, _Zone], kept: dict[int, np.ndarray], name: str) -> str | None:
        for kind, buffers in (("operand", self.operands), ("result", self.results)):
            for k, buffer in enumerate(buffers):
                place = zones[buffer.data].broken()
                if place:
                    return f"{name} wrote outside {kind} {k}, which has {buffer.nbytes} bytes: at {place}."
                changed = buffer.data in kept and zones[buffer.data].data != kept[buffer.data]
                if np.any(changed):
                    return f"{name} wrote into operand {k}, which it may only read: at byte {np.argmax(changed)}."
        return None

    def message(self) -> str:
        """What the handler's error says."""
        at, size = _offsets("XLA_FFI_Error_GetMessage_Args"), ffi.header().struct("XLA_FFI_Error_GetMessage_Args").size
        asked = self._ask("XLA_FFI_Error_GetMessage", size, {at["error"]: self.error})
        return ctypes.string_at(_word(ctypes.addressof(asked) + at["message"])).decode(errors="replace")

    def failed(self, message: str) -> int:
        """An error of XLA's that says this, in the place of the handler's, if there is one."""
        if self.error:
            at, size = _offsets("XLA_FFI_Error_Destroy_Args"), ffi.header().struct("XLA_FFI_Error_Destroy_Args").size
            self._ask("XLA_FFI_Error_Destroy", size, {at["error"]: self.error})
        at, size = _offsets("XLA_FFI_Error_Create_Args"), ffi.header().struct("XLA_FFI_Error_Create_Args").size
        text = ctypes.create_string_buffer(message.encode())
        asked = (ctypes.c_uint8 * size)()
        place = ctypes.addressof(asked)
        _set_word(place, size)
        _set_word(place + at["message"], ctypes.addressof(text))
        ctypes.c_int32.from_address(place + at["errc"]).value = _INTERNAL
        create = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(self._function("XLA_FFI_Error_Create"))
        return int(create(place))

    def _ask(self, function: str, size: int, words: dict[int, int]) -> Any:
        asked = (ctypes.c_uint8 * size)()
        place = ctypes.addressof(asked)
        _set_word(place, size)
        for offset, word in words.items():
            _set_word(place + offset, word)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._function(function))(place)
        return asked

    def _function(self, name: str) -> int:
        return _word(self.api + _offsets("XLA_FFI_Api")[name])


@cache
def _offsets(struct: str) -> dict[str, int]:
    return ffi.header().struct(struct).offsets


def _word(place: int) -> int:
    return ctypes.c_int64.from_address(place).value


def _int(place: int) -> int:
    return ctypes.c_int32.from_address(place).value


def _set_word(place: int, value: int) -> None:
    ctypes.c_int64.from_address(place).value = value


def _copy(source: int, target: int, nbytes: int) -> None:
    if nbytes:
        ctypes.memmove(target, source, nbytes)


def _protect(place: int, what: int) -> None:
    """Say what may be done with a page, where the system can."""
    _mprotect()(ctypes.c_void_p(place), ctypes.c_size_t(mmap.PAGESIZE), what)


@cache
def _mprotect() -> Callable[..., Any]:
    return getattr(ctypes.CDLL(None), "mprotect", lambda *_: None)


# -- LAPACK

def around_lapack(module: ir.Module) -> None:
    """Put a module's calls of LAPACK between red zones."""
    with context.building():
        for op in modules.ops_called("stablehlo.custom_call", module):
            name = attr.decode(op.attributes["call_target_name"])
            if name.startswith(_LAPACK) and name in _registered():
                _lapack.initialize()
                op.attributes["call_target_name"] = attr.string(_register(name))


@cache
def _registered() -> dict[str, Any]:
    return dict(_lapack.registrations())


def _address_of(name: str) -> int:
    of_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    of_pointer.restype, of_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(of_pointer(_registered()[name], b"xla._CUSTOM_CALL_TARGET"))


@cache
def _register(name: str) -> str:
    """Make the guarded routine known to XLA; what it is called by."""
    handler = guarded(_address_of(name), name)
    jax.ffi.register_ffi_target(_GUARDED + name, jax.ffi.pycapsule(ctypes.c_void_p(handler)), platform="cpu")
    return _GUARDED + name
