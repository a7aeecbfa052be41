"""The pool: bounded, oldest out first, safe from finalisers; scratch memory is nobody else's while it is lent."""
from __future__ import annotations

import os
import subprocess
import sys
import threading

import jax
import numpy as np
import pytest

from reactant.runtime import pool
from reactant.runtime.pool import Pool, Scratch
from reactant.runtime.program import Array
from reactant.runtime.uninitialised import fresh_buffer

KILOBYTE = Array((128,), np.dtype(np.float64))
OTHER = Array((64, 2), np.dtype(np.float64))


def test_a_buffer_comes_back_for_its_shape_and_dtype():
    shelf = Pool(1 << 20)
    first = shelf.take(KILOBYTE)
    assert first.shape == (128,) and first.dtype == np.float64 and shelf.held_bytes == 0
    shelf.give_back(first)
    assert shelf.held_bytes == 1024
    assert shelf.take(OTHER) is not first
    assert shelf.take(KILOBYTE) is first
    assert shelf.take(KILOBYTE) is not first


def test_the_limit_drops_the_oldest():
    shelf = Pool(2048)
    buffers = [fresh_buffer(KILOBYTE) for _ in range(3)]
    for buffer in buffers:
        shelf.give_back(buffer)
    assert shelf.held_bytes == 2048
    taken = [shelf.take(KILOBYTE) for _ in range(3)]
    assert [taken[0] is buffers[2], taken[1] is buffers[1], taken[2] is buffers[0]] == [True, True, False]
    shelf.give_back(fresh_buffer(Array((1024,), np.dtype(np.float64))))
    assert shelf.held_bytes == 0, "bigger than the limit"


def test_deleted_buffers_are_not_kept():
    shelf = Pool(1 << 20)
    buffer = fresh_buffer(KILOBYTE)
    buffer.delete()
    shelf.give_back(buffer)
    assert shelf.held_bytes == 0


def test_giving_back_inside_another_method_does_not_block():
    shelf = Pool(1 << 20)
    with shelf._lock:  # what a finaliser run by the collector inside `take` finds
        shelf.give_back(fresh_buffer(KILOBYTE))
    assert shelf.held_bytes == 1024
    assert shelf.release() == 1024 and shelf.held_bytes == 0


def test_many_threads():
    shelf, seen, failures = Pool(1 << 16), set(), []

    def work():
        for _ in range(200):
            buffer = shelf.take(KILOBYTE)
            if id(buffer) in seen:
                failures.append(id(buffer))
            seen.add(id(buffer))
            seen.discard(id(buffer))
            shelf.give_back(buffer)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and shelf.held_bytes <= 1 << 16


def test_scratch():
    scratch = Scratch(3000)
    first, second = scratch.take(1000), scratch.take(1000)
    assert first.ctypes.data % 64 == 0 and not np.shares_memory(first, second)
    scratch.give_back([first, second])
    assert scratch.take(1000) is second and scratch.take(1000) is first
    scratch.give_back([first, second, scratch.take(2000)])
    assert scratch.release() == 3000
    assert scratch.release() == 0


def test_release_memory():
    pool.release_memory()
    pool.POOL.give_back(pool.POOL.take(KILOBYTE))
    pool.SCRATCH.give_back([pool.SCRATCH.take(100)])
    assert pool.release_memory() == 1124


def test_fresh_buffers_are_writable_by_donation():
    fill = jax.jit(lambda into: into * 0 + 1, donate_argnums=0)
    with jax.enable_x64(True):
        buffer = fresh_buffer(KILOBYTE)
        address = buffer.unsafe_buffer_pointer()
        assert fill(buffer).unsafe_buffer_pointer() == address


@pytest.mark.slow
@pytest.mark.parametrize(("value", "expected"), [("12345", "12345"), ("lots", "must be a whole number")])
def test_the_limit_is_named_by_the_environment(value, expected):
    code = "from reactant.runtime.pool import POOL; print(POOL.limit)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "REACTANT_POOL_BYTES": value})
    assert expected in done.stdout + done.stderr
