"""The process of a program's host code, and the memory that it shares with this one.

The shared memory is a file without a name: the runtime's queue, then what this process puts arguments in, then what the
program allocates. Its pages are there once they are touched.
"""
from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reactant.errors import ReactantError

QUEUE = 4 << 20
CHILD = Path(__file__).with_name("child.py")


class ProgramEnded(ReactantError, RuntimeError):
    """A program's process ended while a function of it ran: a signal, `exit`, an uncaught C++ exception.

    Example:
        >>> from reactant.cuda.process import ProgramEnded
        >>> ProgramEnded("'solve' of app.cu called exit(3).").code
        'cuda-program-ended'
    """

    code = "cuda-program-ended"
    hint = "Its own words are on standard error; what the program held is lost, and the next call begins anew."


class Process:
    """A running program.

    Attributes:
        memory: the shared bytes.
        image: where the program's library is in its own memory.
        base: where the shared memory is there.
    """

    def __init__(self, library: Path, title: str, output: Any = None, errors: Any = None):
        self.title = title
        total = 4 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") & ~0xFFFFF
        self._file = os.memfd_create("reactant")
        os.ftruncate(self._file, total)
        self._mapped = mmap.mmap(self._file, total, flags=mmap.MAP_SHARED | getattr(mmap, "MAP_NORESERVE", 0))
        self.memory = np.frombuffer(self._mapped, np.uint8)
        self._half = total // 2
        self._arguments = QUEUE
        self._channel, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-S", "-E", str(CHILD), str(library), str(theirs.fileno()), str(self._file),
                   str(total), str(self._half), str(total)]
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        self._process = subprocess.Popen(command, pass_fds=(theirs.fileno(), self._file), stdout=output, stderr=errors)
        theirs.close()
        if self._received(1) != b"S":
            failed = self.ended("it was loaded")
            self.close()
            raise failed
        self.base, self.image = struct.unpack("=QQ", self._received(16))

    # ---- memory for arguments ----

    def place(self, count: int) -> int:
        """Room for so many bytes until `clear`."""
        at = self._arguments
        self._arguments += -(-max(count, 1) // 4096) * 4096
        if self._arguments > self._half:
            raise MemoryError("The arguments are larger than the machine's memory.")
        return at

    def clear(self) -> None:
        """Give back what arguments took."""
        if self._arguments - QUEUE > 1 << 26:
            self._mapped.madvise(mmap.MADV_REMOVE, QUEUE, self._arguments - QUEUE)
        self._arguments = QUEUE

    # ---- what is asked of it ----

    def start_main(self, words: Sequence[bytes]) -> None:
        self._ask(("main", list(words)))

    def start_call(self, symbol: str, result: str, arguments: list[tuple[str, Any]]) -> None:
        self._ask(("call", symbol, result, arguments))

    def start_taped(self, call: tuple[str, str, list], leaves: list[tuple], watched: list[tuple[int, int]]) -> None:
        """As `start_call`, of a library for the tape: `leaves` are what others come from, `watched` parts of memory."""
        self._ask(("taped", call, leaves, watched))

    def _ask(self, request: tuple) -> None:
        content = pickle.dumps(request)
        self._send(struct.pack("=Q", len(content)) + content)

    def serve(self, flush: Callable[[memoryview], bool]) -> tuple[bool, Any]:
        """Do what the program asks for until its function returns or it ends: (True, result), or (False, None)."""
        while True:
            what = self._received(1)
            if what == b"F":
                size, = struct.unpack("=Q", self._received(8))
                self._command(0, int(flush(memoryview(self._mapped)[:size])))
            elif what == b"R":
                size, = struct.unpack("=Q", self._received(8))
                return True, pickle.loads(self._received(size))
            else:
                return False, None

    def run(self, row: int) -> int:
        """Let the program run a launch itself; gives the cudaError_t."""
        self._command(1, row)
        answer = self._received(8)
        return struct.unpack("=Q", answer)[0] if answer else 0

    def fail(self, error: int) -> None:
        """Every later call of the runtime is to return this cudaError_t."""
        self._command(2, error)

    def write_symbol(self, row: int) -> None:
        """Let the program write what was staged for one of its variables."""
        self._command(3, row)

    def _command(self, what: int, where: int) -> None:
        self._send(struct.pack("=QQ", what, where))

    def _send(self, content: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._channel.sendall(content)

    def _received(self, count: int) -> bytes:
        """So many bytes, b"" where the process has ended."""
        content = b""
        while len(content) < count:
            try:
                more = self._channel.recv(count - len(content))
            except ConnectionResetError:
                more = b""
            if not more:
                return b""
            content += more
        return content

    def read_output(self) -> Callable[[], tuple[str, str]]:
        """Read standard output and errors, where they are pipes, on threads; gives what waits for both."""
        found = ["", ""]

        def read(k: int, stream: Any) -> None:
            with stream:
                found[k] = stream.read().decode(errors="replace")
        threads = [threading.Thread(target=read, args=(k, stream), daemon=True)
                   for k, stream in enumerate((self._process.stdout, self._process.stderr))]
        for thread in threads:
            thread.start()

        def finished() -> tuple[str, str]:
            for thread in threads:
                thread.join()
            return found[0], found[1]
        return finished

    # ---- its end ----

    def wait(self) -> int:
        """The exit status, 128 + the signal that ended it."""
        status = self._process.wait()
        return status if status >= 0 else 128 - status

    def ended(self, what: str) -> ProgramEnded:
        """The error that it ended while `what` ran."""
        status = self._process.wait()
        how = f"called exit({status})" if status >= 0 else f"was ended by {signal.Signals(-status).name}"
        return ProgramEnded(f"{self.title} {how} while {what}.")

    def close(self) -> None:
        """End it, and give the memory back."""
        self._channel.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self.memory = np.empty(0, np.uint8)
        with contextlib.suppress(BufferError):      # somebody still holds a view
            self._mapped.close()
        with contextlib.suppress(OSError):
            os.close(self._file)
            self._file = -1
