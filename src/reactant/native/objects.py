"""Object files in memory: which are loaded, and loading one without LLVM (ELF for x86-64).

Loading llvmlite takes 50 ms of the processor, and an object file from the compile cache a millisecond: sections are
copied into pages of our own, calls of functions elsewhere go through stubs and a table of addresses, as dynamic linkers
have them (the System V ABI for x86-64, "Relocation"). What is not known here raises `UnknownObject`.
"""
from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

RELOCATABLE, X86_64 = 1, 62
SYMBOLS, WITH_ADDENDS, EMPTY = 2, 4, 8
UNWINDING = 0x70000001
"""The section of what debuggers and C++ exceptions need, of which machine code of ours has none."""
WRITTEN, IN_MEMORY, EXECUTED, OF_THREADS = 1, 2, 4, 0x400
ABSOLUTE, RELATIVE, CALLED, RELATIVE_64 = 1, 2, 4, 24
BY_TABLE = (9, 41, 42)
FROM_TABLE, IN_TABLE, TO_TABLE, STUB_FROM_TABLE = 25, 27, 29, 31
"""Of the large code model: 64-bit distances from the table of addresses, places in it, where it is, stubs."""
UNDEFINED, CONSTANT = 0, 0xFFF1
JUMP = b"\xff\x25"
"""The instruction that goes on at an address in memory."""
STUB = 8
LIBRARIES = (None, "libm.so.6", "libgcc_s.so.1")
_PAGE = mmap.PAGESIZE


class UnknownObject(Exception):
    """An object file of a kind that is not loaded here."""


class Loaded:
    """An object file that is loaded: its bytes, and where its functions are."""

    def __init__(self, code: bytes, addresses: dict[str, int]) -> None:
        self.code, self.addresses = code, addresses


_LOADED: dict[str, Loaded] = {}
_REGISTERED: set[str] = set()
"""The names under which XLA knows functions."""
_PAGES: list[Any] = []
"""Machine code is never unloaded."""
_lock = threading.RLock()


def note(name: str, code: bytes, addresses: dict[str, int]) -> None:
    """Remember what has been loaded under a name, of which there is one in a process."""
    _LOADED[name] = Loaded(code, addresses)


def known(name: str) -> Loaded | None:
    """What is loaded under a name."""
    return _LOADED.get(name)


def addresses_of(name: str) -> dict[str, int] | None:
    """Where the functions of what is loaded under a name are."""
    found = _LOADED.get(name)
    return None if found is None else found.addresses


def is_registered(target: str) -> bool:
    """Whether XLA knows a function under this name."""
    return target in _REGISTERED


def register(target: str, address: int) -> None:
    """Make a function known to XLA on CPUs, unless it is."""
    with _lock:
        if target not in _REGISTERED:
            _REGISTERED.add(target)
            import jax  # the compiler of CUDA programs makes objects without it

            jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(ctypes.c_void_p(address)), platform="cpu")


@cache
def usable() -> bool:
    """Whether object files of this machine are loaded here."""
    return sys.platform == "linux" and platform.machine() == "x86_64" and sys.byteorder == "little"


@cache
def _libraries() -> list[Any]:
    found = []
    for name in LIBRARIES:
        try:
            found.append(ctypes.CDLL(name))
        except OSError:         # where it is part of the C library
            continue
    return found


def of_process(symbol: str) -> int | None:
    """The address of a function of the C library, or of what else the process has."""
    for library in _libraries():
        try:
            return ctypes.cast(library[symbol], ctypes.c_void_p).value
        except AttributeError:
            continue
    return None


_DAMAGES = (struct.error, IndexError, ValueError, OverflowError, KeyError)
"""What reading an object file may raise that is none."""


class _Section:
    __slots__ = ("alignment", "flags", "info", "kind", "link", "name", "offset", "size")

    def __init__(self, name: str, kind: int, flags: int, offset: int, size: int, link: int, info: int,
                 alignment: int) -> None:
        self.name, self.kind, self.flags, self.offset, self.size = name, kind, flags, offset, size
        self.link, self.info, self.alignment = link, info, alignment


class _Symbol:
    __slots__ = ("name", "section", "value")

    def __init__(self, name: str, section: int, value: int) -> None:
        self.name, self.section, self.value = name, section, value


class ObjectFile:
    """The sections and symbols of an ELF file. Raises `UnknownObject` for another one."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        if code[:6] != b"\x7fELF\x02\x01" or len(code) < 64 \
                or struct.unpack_from("<HH", code, 16) != (RELOCATABLE, X86_64):
            raise UnknownObject("it is no object file for x86-64")
        try:
            self._read()
        except _DAMAGES as error:
            raise UnknownObject(f"it is damaged: {error}") from error

    def _read(self) -> None:
        at, = struct.unpack_from("<Q", self.code, 40)
        count, names = struct.unpack_from("<HH", self.code, 60)
        rows = [struct.unpack_from("<IIQQQQIIQQ", self.code, at + 64 * k) for k in range(count)]
        self.sections = [_Section(self._text(rows[names][4] + row[0]), row[1], row[2], row[4], row[5], row[6], row[7],
                                  max(row[8], 1)) for row in rows]
        if any(s.kind != EMPTY and s.offset + s.size > len(self.code) for s in self.sections):
            raise ValueError("a section ends behind the file")
        table = [s for s in self.sections if s.kind == SYMBOLS][0]
        texts = self.sections[table.link].offset
        self.symbols = [_Symbol(self._text(texts + name), section, value) for name, _, _, section, value, _ in
                        struct.iter_unpack("<IBBHQQ", self.bytes_of(table))]

    def _text(self, at: int) -> str:
        return self.code[at:self.code.index(b"\0", at)].decode()

    def bytes_of(self, section: _Section) -> bytes:
        """What the file has of a section."""
        return self.code[section.offset:section.offset + section.size]

    @property
    def undefined(self) -> list[str]:
        """The names of what it needs of others."""
        return [s.name for s in self.symbols if s.section == UNDEFINED and s.name]

    def relocations(self) -> Iterator[tuple[int, int, int, _Symbol, int]]:
        """(section, offset in it, type, symbol, addend) of each place that gets an address, in what is in memory."""
        for section in self.sections:
            target = self.sections[section.info] if section.kind == WITH_ADDENDS else None
            if target is None or not target.flags & IN_MEMORY or target.kind == UNWINDING:
                continue
            for offset, info, addend in struct.iter_unpack("<QQq", self.bytes_of(section)):
                yield section.info, offset, info & 0xFFFFFFFF, self.symbols[info >> 32], addend


def load(name: str, code: bytes, exports: Sequence[str], resolve: Callable[[str], int | None]) -> dict[str, int]:
    """Load an object file; the addresses of `exports`. resolve: the address of a function that it needs.

    Raises `UnknownObject` where that cannot be done here."""
    with _lock:
        if name not in _LOADED:
            try:
                note(name, code, _Image(ObjectFile(code), resolve).addresses(exports))
            except _DAMAGES as error:
                raise UnknownObject(f"it is damaged: {error}") from error
        return _LOADED[name].addresses


class _Image:
    """An object file in memory."""

    def __init__(self, file: ObjectFile, resolve: Callable[[str], int | None]) -> None:
        self.file, self.resolve = file, resolve
        relocations = list(file.relocations())
        tabled = list(dict.fromkeys(s for _, _, kind, s, _ in relocations
                                    if kind in (*BY_TABLE, IN_TABLE) or self._is_far(kind, s)))
        stubbed = list(dict.fromkeys(s for _, _, kind, s, _ in relocations if self._is_far(kind, s)))
        self._place(len(tabled), len(stubbed))
        for number, symbol in enumerate(tabled):
            self._write("<Q", self.table + 8 * number, self._address(symbol))
        table = {symbol: self.table + 8 * number for number, symbol in enumerate(tabled)}
        stubs = {}
        for number, symbol in enumerate(stubbed):
            stubs[symbol] = at = self.stubs + STUB * number
            self._write("<2si", at, JUMP, table[symbol] - (at + 6))
        for section, offset, kind, symbol, addend in relocations:
            at = self.starts[section] + offset
            if kind == ABSOLUTE:
                self._write("<q", at, self._address(symbol) + addend)
            elif kind == RELATIVE_64:
                self._write("<q", at, self._address(symbol) + addend - (self.base + at))
            elif kind == FROM_TABLE:
                self._write("<q", at, self._address(symbol) + addend - (self.base + self.table))
            elif kind == TO_TABLE:
                self._write("<q", at, self.table + addend - at)
            elif kind == IN_TABLE:
                self._write("<q", at, table[symbol] - self.table + addend)
            elif kind == STUB_FROM_TABLE:
                self._write("<q", at, stubs[symbol] - self.table + addend)
            elif kind in BY_TABLE:
                self._write("<i", at, table[symbol] + addend - at)
            elif symbol in stubs:
                self._write("<i", at, stubs[symbol] + addend - at)
            elif kind in (RELATIVE, CALLED) and symbol.section in self.starts:
                self._write("<i", at, self.starts[symbol.section] + symbol.value + addend - at)
            else:
                raise UnknownObject(f"a relocation of type {kind} for {symbol.name!r}")
        self._protect()

    @staticmethod
    def _is_far(kind: int, symbol: _Symbol) -> bool:
        return kind == STUB_FROM_TABLE or kind == CALLED and symbol.section == UNDEFINED

    def _place(self, entries: int, stubs: int) -> None:
        """Put the sections into pages: what is executed, what is read, what is written."""
        self.starts: dict[int, int] = {}
        self.parts: list[tuple[int, int, int]] = []
        end = 0
        for flags, access in ((EXECUTED, mmap.PROT_READ | mmap.PROT_EXEC), (0, mmap.PROT_READ),
                              (WRITTEN, mmap.PROT_READ | mmap.PROT_WRITE)):
            begin = end = -(-end // _PAGE) * _PAGE
            for number, section in enumerate(self.file.sections):
                if not section.flags & IN_MEMORY or section.kind == UNWINDING \
                        or section.flags & (EXECUTED | WRITTEN) != flags:
                    continue
                if section.flags & OF_THREADS:
                    raise UnknownObject("it has variables of threads")
                self.starts[number] = end = -(-end // section.alignment) * section.alignment
                end += section.size
            if flags == EXECUTED:
                self.stubs = end = -(-end // STUB) * STUB
                end += STUB * stubs
            elif flags == 0:
                self.table = end = -(-end // 8) * 8
                end += 8 * entries
            self.parts.append((begin, end, access))
        self.pages = mmap.mmap(-1, max(end, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        _PAGES.append(self.pages)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))
        for number, start in self.starts.items():
            section = self.file.sections[number]
            if section.kind != EMPTY:
                self.pages[start:start + section.size] = self.file.bytes_of(section)

    def _write(self, form: str, at: int, *values: Any) -> None:
        try:
            struct.pack_into(form, self.pages, at, *values)
        except struct.error as error:
            raise UnknownObject(f"an address is too far away ({error})") from error

    def _address(self, symbol: _Symbol) -> int:
        if symbol.section == CONSTANT:
            return symbol.value
        if symbol.section != UNDEFINED:
            if symbol.section not in self.starts:
                raise UnknownObject(f"{symbol.name!r} is in no section that is in memory")
            return self.base + self.starts[symbol.section] + symbol.value
        found = self.resolve(symbol.name)
        if not found:
            raise UnknownObject(f"nobody has {symbol.name!r}")
        return found

    def _protect(self) -> None:
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for begin, end, access in self.parts:
            if end > begin and protect(self.base + begin, -(-(end - begin) // _PAGE) * _PAGE, access):
                raise UnknownObject("the system does not let pages be executed")

    def addresses(self, exports: Sequence[str]) -> dict[str, int]:
        """Where functions of it are."""
        defined = {s.name: s for s in self.file.symbols if s.section != UNDEFINED and s.name}
        if missing := [name for name in exports if name not in defined]:
            raise UnknownObject(f"it has no {missing[0]!r}")
        return {name: self._address(defined[name]) for name in exports}
