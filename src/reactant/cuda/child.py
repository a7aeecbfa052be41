"""The process in which a program's host code runs: loads the library, does what it is asked. Imports nothing of ours.

Started by `process.py` as a script: library, channel, memory, its bytes, first and last byte for this process.
"""
from __future__ import annotations

import ctypes
import os
import pickle
import signal
import socket
import struct
import sys
from typing import Any

KINDS: dict[str, Any] = {"b1": ctypes.c_bool, "i1": ctypes.c_int8, "i2": ctypes.c_int16, "i4": ctypes.c_int32,
                         "i8": ctypes.c_int64, "u1": ctypes.c_uint8, "u2": ctypes.c_uint16, "u4": ctypes.c_uint32,
                         "u8": ctypes.c_uint64, "f4": ctypes.c_float, "f8": ctypes.c_double, "none": None,
                         "text": ctypes.c_char_p, "address": ctypes.c_void_p}


def _received(channel: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        more = channel.recv(count - len(content))
        if not more:
            os._exit(125)       # nobody is there any more
        content += more
    return content


def _call(library: Any, base: int, symbol: str, result: str, arguments: list[tuple[str, Any]]) -> Any:
    function = library[symbol]      # a fresh object each time
    function.restype = KINDS[result]
    given = [KINDS[kind](base + value if kind == "address" and value is not None else value)
             for kind, value in arguments]
    function.argtypes = [KINDS[kind] for kind, _ in arguments]
    return function(*given)


def _taped(library: Any, base: int, request: tuple, leaves: list[tuple], watched: list[tuple[int, int]]) -> tuple:
    """A call whose numbers are noted: (what it returns, the identity of that, nodes, complaints, runs of `watched`)."""
    library.reactant_tape_begin()
    for kind, *where in leaves:
        if kind == "number":
            library.reactant_tape_leaf(ctypes.c_uint32(where[0]))
        else:
            library.reactant_tape_leaves(ctypes.c_void_p(base + where[0]), ctypes.c_uint64(where[1]))
    result = _call(library, base, *request)
    library.reactant_record_flush()
    runs = []
    library.reactant_tape_runs.restype = ctypes.c_uint64
    for place, size in watched:
        given = ctypes.c_void_p(base + place), ctypes.c_uint64(size)
        count = library.reactant_tape_runs(*given, None, ctypes.c_uint64(0))
        target = ctypes.create_string_buffer(24 * count)
        library.reactant_tape_runs(*given, target, ctypes.c_uint64(count))
        runs.append(target.raw[:24 * count])
    counts, tables = (ctypes.c_uint64 * 3)(), (ctypes.c_void_p * 2)()
    library.reactant_tape_end(counts, tables)
    nodes, complaints = (ctypes.string_at(table, size * count) if count else b""
                         for table, size, count in zip(tables, (48, 24), counts[1:], strict=True))
    return result, counts[0], nodes, complaints, runs


def _main(library: Any, libc: Any, words: list[bytes]) -> None:
    arguments = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    status = library.main(ctypes.c_int(len(words)), arguments, ctypes.c_void_p.in_dll(libc, "environ"))
    libc.exit(ctypes.c_int(status))


def main() -> None:
    path, descriptor, memory, size, first, last = sys.argv[1], *map(int, sys.argv[2:])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    libc = ctypes.CDLL(None)
    library = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
    channel = socket.socket(fileno=descriptor)
    image = ctypes.c_uint64()
    library.reactant_record.restype = ctypes.c_void_p
    base = library.reactant_record(ctypes.c_int(descriptor), ctypes.c_int(memory), ctypes.c_uint64(size),
                                   ctypes.c_uint64(first), ctypes.c_uint64(last), ctypes.byref(image))
    channel.sendall(b"S" + struct.pack("=QQ", base or 0, image.value))
    while True:
        request = pickle.loads(_received(channel, struct.unpack("=Q", _received(channel, 8))[0]))
        if request[0] == "main":
            _main(library, libc, request[1])
        if request[0] == "taped":
            result = _taped(library, base, *request[1:])
        else:
            result = _call(library, base, *request[1:])
        library.reactant_record_flush()
        libc.fflush(None)
        answer = pickle.dumps(result)
        channel.sendall(b"R" + struct.pack("=Q", len(answer)) + answer)


if __name__ == "__main__":
    main()
