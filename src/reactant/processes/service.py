"""jax's coordination service in a process of its own: the first process of a program may die as any other may.

Run as a file, so that nothing but jaxlib is loaded. It ends when the process that started it says so, and a while after
that has gone: the others still have to hear of it.
"""
from __future__ import annotations

import contextlib
import subprocess
import sys
import time

LINGERS, ENDING = 30.0, 5.0
"""Seconds that it stays without the process that started it, and when that has said that all have ended: what ends a
client that has no service any more ends its process."""


class Service:
    """The process, seen from the one that starts it."""

    def __init__(self, address: str, count: int, silence: int) -> None:
        """address: host and port, the latter free on this machine. silence: as in `join_processes`."""
        self._process = subprocess.Popen([sys.executable, "-P", __file__, address, str(count), str(silence)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         start_new_session=True)

    def wait(self) -> bool:
        """Whether it is there, as soon as it is known."""
        assert self._process.stdout is not None
        return self._process.stdout.readline() == b"here\n"

    def leave(self) -> None:
        """Let it end in a while."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(b"end")
            self._process.stdin.close()

    def end(self) -> None:
        """Have it end at once."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def main(address: str, count: str, silence: str) -> None:
    """Serve until the standard input ends."""
    from jaxlib import _jax  # private: see runtime/jax_internals.py
    serving = _jax.get_distributed_runtime_service(address, int(count), heartbeat_timeout=int(silence),
                                                   shutdown_timeout=1, recoverable=True)
    print("here", flush=True)
    time.sleep(ENDING if sys.stdin.buffer.read() else LINGERS)
    del serving


if __name__ == "__main__":
    main(*sys.argv[1:])
