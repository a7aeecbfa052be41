"""Kernels as people write them: cut at the barriers where that can be done, coroutines where not; in XLA programs."""
from __future__ import annotations

import numpy as np
import pytest
from jaxlib.mlir import ir

from reactant import native
from reactant.errors import ReactantError, UnsupportedError
from reactant.ir import context, modules
from reactant.native import fission, place
from reactant.runtime.executable import Executable
from tests.native.kernel_generator import DECLARATIONS, SHARED

HEAD = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 4, 8, 15, 16, 31, 32, 64)) + "\n" + \
    "\n".join(f"%k{n} = arith.constant {n} : i32" for n in (0, 1, 2, 5, 16, 32)) + """
%km = arith.constant -1 : i32
%zero = arith.constant 0.0 : f64
%x = gpu.thread_id x
%y = gpu.thread_id y
%b = gpu.block_id x
%bd = gpu.block_dim x
%start = arith.muli %b, %bd : index
%g = arith.addi %start, %x : index
"""


def kernel(arguments: str, body: str, shared: str = "") -> str:
    head = f"func.func @kernel({arguments}) attributes {{gpu.kernel}} {{"
    return "\n".join([head, HEAD, shared, body, "return\n}", DECLARATIONS])


def cut(text: str, grid, block) -> bool:
    with context.building():
        module = modules.parse(text)
        return fission.possible(place.launch_of(module.body.operations[0].operation, grid, block))


def both(text: str, grid, block, *arrays, is_cut: bool) -> list:
    """Run the kernel in both ways; the arrays after it, which agree."""
    assert cut(text, grid, block) == is_cut
    results = []
    for coroutines in (False, True):
        own = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
        native.compile_kernel(text, "kernel", grid=grid, block=block, coroutines=coroutines)(*own)
        results.append(own)
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)
    return results[0]


TILE = f"memref<16x16xf64, {SHARED}>"
MATMUL = kernel("%a: memref<?xf64>, %b0: memref<?xf64>, %o: memref<?xf64>, %n: index", f"""
%by = gpu.block_id y
%row0 = arith.muli %by, %c16 : index
%row = arith.addi %row0, %y : index
%tiles = arith.divui %n, %c16 : index
%sum = scf.for %t = %c0 to %tiles step %c1 iter_args(%s = %zero) -> f64 {{
  %kk = arith.muli %t, %c16 : index
  %rown = arith.muli %row, %n : index
  %ka = arith.addi %kk, %x : index
  %ia = arith.addi %rown, %ka : index
  %kb = arith.addi %kk, %y : index
  %kbn = arith.muli %kb, %n : index
  %ib = arith.addi %kbn, %g : index
  %va = memref.load %a[%ia] : memref<?xf64>
  %vb = memref.load %b0[%ib] : memref<?xf64>
  memref.store %va, %ta[%y, %x] : {TILE}
  memref.store %vb, %tb[%y, %x] : {TILE}
  gpu.barrier
  %part = scf.for %k = %c0 to %c16 step %c1 iter_args(%p = %s) -> f64 {{
    %l = memref.load %ta[%y, %k] : {TILE}
    %r = memref.load %tb[%k, %x] : {TILE}
    %m = arith.mulf %l, %r : f64
    %q = arith.addf %p, %m : f64
    scf.yield %q : f64
  }}
  gpu.barrier
  scf.yield %part : f64
}}
%rn = arith.muli %row, %n : index
%i = arith.addi %rn, %g : index
memref.store %sum, %o[%i] : memref<?xf64>""", f"%ta = memref.alloca() : {TILE}\n%tb = memref.alloca() : {TILE}")


def test_tiled_matrix_product():
    n = 48
    a, b = (np.random.default_rng(i).integers(-9, 9, (n, n)).astype(float) for i in range(2))
    out = both(MATMUL, (3, 3), (16, 16), a.ravel(), b.ravel(), np.zeros(n * n), n, is_cut=True)[2]
    np.testing.assert_array_equal(out.reshape(n, n), a @ b)


LINE = f"memref<64xi32, {SHARED}>"
SCAN = kernel("%a: memref<?xi32>, %o: memref<?xi32>", f"""
%v = memref.load %a[%g] : memref<?xi32>
memref.store %v, %s[%x] : {LINE}
gpu.barrier
%end = scf.while (%d = %c1) : (index) -> index {{
  %more = arith.cmpi ult, %d, %c64 : index
  scf.condition(%more) %d : index
}} do {{
^bb0(%d: index):
  %reach = arith.cmpi uge, %x, %d : index
  %left = scf.if %reach -> i32 {{
    %j = arith.subi %x, %d : index
    %l = memref.load %s[%j] : {LINE}
    scf.yield %l : i32
  }} else {{
    scf.yield %k0 : i32
  }}
  gpu.barrier
  %own = memref.load %s[%x] : {LINE}
  %new = arith.addi %own, %left : i32
  memref.store %new, %s[%x] : {LINE}
  gpu.barrier
  %twice = arith.addi %d, %d : index
  scf.yield %twice : index
}}
%r = memref.load %s[%x] : {LINE}
memref.store %r, %o[%g] : memref<?xi32>""", f"%s = memref.alloca() : {LINE}")


def test_scan():
    a = np.random.default_rng(0).integers(-9, 9, 192).astype(np.int32)
    out = both(SCAN, (3,), (64,), a, np.zeros_like(a), is_cut=True)[1]
    np.testing.assert_array_equal(out.reshape(3, 64), a.reshape(3, 64).cumsum(1))


ARRAY_SUM = kernel("%a: memref<?xi32>, %n: i32", f"""
%i = arith.index_cast %x : index to i32
%inside = arith.cmpi slt, %i, %n : i32
scf.if %inside {{
  %v = memref.load %a[%x] : memref<?xi32>
  memref.store %v, %s[%x] : {LINE}
  gpu.barrier
  %last = scf.while (%d = %k1) : (i32) -> i32 {{
    %more = arith.cmpi slt, %d, %n : i32
    scf.condition(%more) %d : i32
  }} do {{
  ^bb0(%d: i32):
    %two = arith.addi %d, %d : i32
    %rest = arith.remui %i, %two : i32
    %mine = arith.cmpi eq, %rest, %k0 : i32
    %other = arith.addi %i, %d : i32
    %there = arith.cmpi slt, %other, %n : i32
    %do = arith.andi %mine, %there : i1
    scf.if %do {{
      %j = arith.index_cast %other : i32 to index
      %p = memref.load %s[%x] : {LINE}
      %q = memref.load %s[%j] : {LINE}
      %r = arith.addi %p, %q : i32
      memref.store %r, %s[%x] : {LINE}
    }}
    gpu.barrier
    scf.yield %two : i32
  }}
  %first = arith.cmpi eq, %i, %k0 : i32
  scf.if %first {{
    %t = memref.load %s[%x] : {LINE}
    memref.store %t, %a[%x] : memref<?xi32>
  }}
}}""", f"%s = memref.alloca() : {LINE}")


@pytest.mark.parametrize("n", [1, 37, 64])
def test_barriers_inside_a_divergent_if(n):
    a = np.random.default_rng(0).integers(-9, 9, 64).astype(np.int32)
    assert both(ARRAY_SUM, (1,), (64,), a, n, is_cut=True)[0][0] == a[:n].sum()


DIVERGENT = kernel("%a: memref<?xi32>", f"""
%odd = arith.remui %x, %c2 : index
%is_odd = arith.cmpi eq, %odd, %c1 : index
%v = arith.index_cast %x : index to i32
memref.store %v, %s[%x] : {LINE}
scf.if %is_odd {{
  gpu.barrier
  %j = arith.subi %x, %c1 : index
  %w = memref.load %s[%j] : {LINE}
  memref.store %w, %a[%x] : memref<?xi32>
}} else {{
  gpu.barrier
  %j = arith.addi %x, %c1 : index
  %w = memref.load %s[%j] : {LINE}
  memref.store %w, %a[%x] : memref<?xi32>
}}
gpu.barrier
%e = memref.load %a[%x] : memref<?xi32>
%f = arith.muli %e, %k5 : i32
memref.store %f, %a[%x] : memref<?xi32>""", f"%s = memref.alloca() : {LINE}")


def test_different_barriers_of_both_branches():
    out = both(DIVERGENT, (1,), (64,), np.zeros(64, np.int32), is_cut=False)[0]
    np.testing.assert_array_equal(out, 5 * (np.arange(64) ^ 1))


LEAVES = kernel("%a: memref<?xi32>", f"""
%trips = arith.remui %x, %c8 : index
memref.store %k0, %s[%x] : {LINE}
scf.for %t = %c0 to %trips step %c1 {{
  %v = memref.load %s[%x] : {LINE}
  %w = arith.addi %v, %k1 : i32
  memref.store %w, %s[%x] : {LINE}
  gpu.barrier
}}
%j = arith.subi %c64, %x : index
%k = arith.subi %j, %c1 : index
%r = memref.load %s[%x] : {LINE}
memref.store %r, %a[%k] : memref<?xi32>""", f"%s = memref.alloca() : {LINE}")


def test_threads_leave_a_loop_with_barriers_one_after_the_other():
    out = both(LEAVES, (1,), (64,), np.zeros(64, np.int32), is_cut=False)[0]
    np.testing.assert_array_equal(out[::-1], np.arange(64) % 8)


SPREAD = kernel("%a: memref<?xi32>", f"""
%start_at = memref.load %a[%x] : memref<?xi32>
memref.store %start_at, %s[%x] : {LINE}
%i = arith.addi %x, %c1 : index
%next = arith.remui %i, %c64 : index
%first = arith.cmpi eq, %x, %c0 : index
scf.if %first {{ memref.store %k1, %changed[%c0] : memref<1xi32, {SHARED}> }}
gpu.barrier
scf.while : () -> () {{
  %flag = memref.load %changed[%c0] : memref<1xi32, {SHARED}>
  %go = arith.cmpi ne, %flag, %k0 : i32
  scf.condition(%go)
}} do {{
  gpu.barrier
  scf.if %first {{ memref.store %k0, %changed[%c0] : memref<1xi32, {SHARED}> }}
  %own = memref.load %s[%x] : {LINE}
  %other = memref.load %s[%next] : {LINE}
  %more = arith.cmpi sgt, %other, %own : i32
  gpu.barrier
  scf.if %more {{
    memref.store %other, %s[%x] : {LINE}
    memref.store %k1, %changed[%c0] : memref<1xi32, {SHARED}>
  }}
  gpu.barrier
  scf.yield
}}
%end = memref.load %s[%x] : {LINE}
memref.store %end, %a[%x] : memref<?xi32>""", f"""%s = memref.alloca() : {LINE}
%changed = memref.alloca() : memref<1xi32, {SHARED}>""")


def test_a_loop_until_a_shared_flag_says_so():
    a = np.random.default_rng(0).integers(0, 1000, 64).astype(np.int32)
    out = both(SPREAD, (1,), (64,), a, is_cut=True)[0]
    np.testing.assert_array_equal(out, np.full(64, a.max()))


WARP_SUM = kernel("%a: memref<?xf64>, %o: memref<?xf64>, %n: index", """
%inside = arith.cmpi ult, %g, %n : index
%v = scf.if %inside -> f64 {
  %l = memref.load %a[%g] : memref<?xf64>
  scf.yield %l : f64
} else {
  scf.yield %zero : f64
}
%r:2 = scf.while (%s = %v, %d = %k16) : (f64, i32) -> (f64, i32) {
  %more = arith.cmpi sgt, %d, %k0 : i32
  scf.condition(%more) %s, %d : f64, i32
} do {
^bb0(%s: f64, %d: i32):
  %other, %ok = gpu.shuffle down %s, %d, %k32 : f64
  %t = arith.addf %s, %other : f64
  %h = arith.shrui %d, %k1 : i32
  scf.yield %t, %h : f64, i32
}
%lane = arith.andi %x, %c31 : index
%first = arith.cmpi eq, %lane, %c0 : index
scf.if %first {
  %q = memref.atomic_rmw addf %r#0, %o[%c0] : (f64, memref<?xf64>) -> f64
}""")


def test_warp_reduction_with_atomics():
    a = np.random.default_rng(0).integers(-9, 9, 1000).astype(float)
    assert both(WARP_SUM, (8,), (128,), a, np.zeros(1), 1000, is_cut=True)[1][0] == a.sum()


HISTOGRAM = kernel("%a: memref<?xi32>, %o: memref<?xi32>, %n: index", f"""
%clear = arith.cmpi ult, %x, %c16 : index
scf.if %clear {{ memref.store %k0, %s[%x] : {LINE} }}
gpu.barrier
%gd = gpu.grid_dim x
%stride = arith.muli %gd, %bd : index
scf.for %i = %g to %n step %stride {{
  %v = memref.load %a[%i] : memref<?xi32>
  %w = arith.index_cast %v : i32 to index
  %old = memref.atomic_rmw addi %k1, %s[%w] : (i32, {LINE}) -> i32
}}
gpu.barrier
scf.if %clear {{
  %v = memref.load %s[%x] : {LINE}
  %old = memref.atomic_rmw addi %v, %o[%x] : (i32, memref<?xi32>) -> i32
}}""", f"%s = memref.alloca() : {LINE}")


def test_histogram_in_shared_memory():
    a = np.random.default_rng(0).integers(0, 16, 5000).astype(np.int32)
    out = both(HISTOGRAM, (5,), (64,), a, np.zeros(16, np.int32), 5000, is_cut=True)[1]
    np.testing.assert_array_equal(out, np.bincount(a, minlength=16))


GRID = kernel("%a: memref<?xf64>, %o: memref<?xf64>, %n: index", """
%last = arith.subi %n, %c1 : index
%quarter = arith.constant 0.25 : f64
%half = arith.constant 0.5 : f64
%inner0 = arith.cmpi ugt, %g, %c0 : index
%inner1 = arith.cmpi ult, %g, %last : index
%inner = arith.andi %inner0, %inner1 : i1
scf.for %t = %c0 to %c8 step %c1 {
  scf.if %inner {
    %l0 = arith.subi %g, %c1 : index
    %r0 = arith.addi %g, %c1 : index
    %l = memref.load %a[%l0] : memref<?xf64>
    %m = memref.load %a[%g] : memref<?xf64>
    %r = memref.load %a[%r0] : memref<?xf64>
    %s = arith.addf %l, %r : f64
    %p = arith.mulf %s, %quarter : f64
    %q = arith.mulf %m, %half : f64
    %u = arith.addf %p, %q : f64
    memref.store %u, %o[%g] : memref<?xf64>
  }
  func.call @reactant.barrier.grid() : () -> ()
  scf.if %inner {
    %u = memref.load %o[%g] : memref<?xf64>
    memref.store %u, %a[%g] : memref<?xf64>
  }
  func.call @reactant.barrier.grid() : () -> ()
}""")


def test_barriers_of_the_whole_grid():
    a = np.random.default_rng(0).normal(size=96)
    expected = a.copy()
    for _ in range(8):
        expected[1:-1] = (expected[:-2] + expected[2:]) * 0.25 + expected[1:-1] * 0.5
    run = native.compile_kernel(GRID, "kernel", grid=(3,), block=(32,))
    run(a, np.zeros(96), 96)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.machine_code
def test_plain_kernel_larger_than_its_data():
    text = kernel("%a: memref<?xf64>, %o: memref<?xf64>, %n: index", """
    %inside = arith.cmpi slt, %g, %n : index
    scf.if %inside {
      %v = memref.load %a[%g] : memref<?xf64>
      %w = math.exp %v : f64
      memref.store %w, %o[%g] : memref<?xf64>
    }""")
    a = np.random.default_rng(0).normal(size=1000)
    run = native.compile_kernel(text, "kernel", grid=(9,), block=(128,))
    out = np.zeros(1000)
    run(a, out, 1000)
    np.testing.assert_allclose(out, np.exp(a), rtol=1e-15)
    assert "x double>" in run.as_llvm(optimized=True), "threads are not vectorised"


def test_kernel_in_a_program_with_several_threads():
    n = 64 * 500
    run = native.compile_kernel(HISTOGRAM, "kernel", grid=(500,), block=(64,), roles=("in", "inout", "in"))
    with context.building():
        module = modules.parse(f"""func.func public @main(%a: tensor<{n}xi32>, %o: tensor<16xi32>, %n: tensor<i64>)
            -> tensor<16xi32> {{ return %o : tensor<16xi32> }}""")
        block = module.body.operations[0].regions[0].blocks[0]
        end = list(block.operations)[-1].operation
        with ir.InsertionPoint(end):
            end.operands[0] = run.custom_call(list(block.arguments))[0]
        executable = Executable(module)
    a = np.random.default_rng(0).integers(0, 16, n).astype(np.int32)
    for _ in range(20):
        out = executable([a, np.zeros(16, np.int32), np.int64(n)])[0]
        np.testing.assert_array_equal(out, np.bincount(a, minlength=16))


def test_block_and_grid_barriers_that_exclude_each_other():
    text = kernel("%a: memref<?xi32>", """
    %first = arith.cmpi eq, %x, %c0 : index
    scf.if %first {
      gpu.barrier
    } else {
      func.call @reactant.barrier.grid() : () -> ()
    }""")
    run = native.compile_kernel(text, "kernel", grid=(2,), block=(32,))
    with pytest.raises(native.NativeError, match="wait for each other at different barriers"):
        run(np.zeros(3, np.int32))


@pytest.mark.parametrize("barrier", ["", "gpu.barrier"])
@pytest.mark.parametrize("coroutines", [False, True])
def test_where_a_thread_is(barrier, coroutines):
    grid, block = (3, 2, 4), (5, 4, 3)
    names = [f"gpu.{what} {d}" for what in ("thread_id", "block_id", "block_dim", "grid_dim", "global_id")
             for d in "xyz"]
    names += ["gpu.lane_id", "gpu.subgroup_id : index", "gpu.subgroup_size : index", "gpu.num_subgroups : index"]
    kind = "memref<1440x19xi32>"
    steps = "\n".join(f"""%w{i} = {name}
        %s{i} = arith.index_cast %w{i} : index to i32
        %p{i} = arith.constant {i} : index
        memref.store %s{i}, %o[%at, %p{i}] : {kind}""" for i, name in enumerate(names))
    at, stride = "", 1
    for d, (what, size) in enumerate([(f"thread_id {a}", s) for a, s in zip("xyz", block, strict=True)]
                                     + [(f"block_id {a}", s) for a, s in zip("xyz", grid, strict=True)]):
        at += (f"%q{d} = gpu.{what}\n%r{d} = arith.constant {stride} : index\n%t{d} = arith.muli %q{d}, %r{d} : index\n"
               f"%n{d} = arith.addi {f'%n{d - 1}' if d else '%c0'}, %t{d} : index\n")
        stride *= size
    text = kernel(f"%o: {kind}", f"{at}%at = arith.addi %n5, %c0 : index\n{barrier}\n{steps}")
    out = np.zeros((1440, 19), np.int32)
    native.compile_kernel(text, "kernel", grid=grid, block=block, coroutines=coroutines)(out)
    b, t = np.divmod(np.arange(1440), 60)
    thread = np.stack([t % 5, t // 5 % 4, t // 20], 1)
    place_of_block = np.stack([b % 3, b // 3 % 2, b // 6], 1)
    ones = np.ones((1440, 1), int)
    expected = np.concatenate([thread, place_of_block, ones * block, ones * grid, place_of_block * block + thread,
                               (t % 32)[:, None], (t // 32)[:, None], ones * 32, ones * 2], 1)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("barrier", ["", "gpu.barrier"])
@pytest.mark.parametrize("coroutines", [False, True])
def test_checks_in_kernels(barrier, coroutines):
    text = kernel("%a: memref<?xi32>, %n: index", f"""
    %even = arith.remui %x, %c2 : index
    %is_even = arith.cmpi eq, %even, %c0 : index
    {barrier}
    scf.if %is_even {{
      %ok = arith.cmpi slt, %g, %n : index
      cf.assert %ok, "kernel.py:12: index out of bounds"
      memref.store %k1, %a[%g] : memref<?xi32>
    }}
    {barrier}""")
    run = native.compile_kernel(text, "kernel", grid=(3,), block=(32,), coroutines=coroutines)
    a = np.zeros(96, np.int32)
    run(a, 96)
    np.testing.assert_array_equal(a, np.arange(96) % 2 == 0)
    with pytest.raises(native.NativeError, match="kernel.py:12: index out of bounds"):
        run(a, 50)


def test_what_is_refused():
    text = kernel("%a: memref<?xi32>", "gpu.barrier")
    with pytest.raises(ReactantError, match="no attribute reactant.grid and no grid was given"):
        native.compile_kernel(text, "kernel", block=(3,))
    with pytest.raises(ReactantError, match="one to three positive sizes"):
        native.compile_kernel(text, "kernel", grid=(3, 0), block=(3,))
    with pytest.raises(UnsupportedError, match="reactant.unknown"):
        native.compile_kernel(kernel("%a: memref<?xi32>", "func.call @reactant.unknown() : () -> ()")
                              + "func.func private @reactant.unknown()", "kernel", grid=(1,), block=(3,))


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_neighbours_of_which_only_the_low_bits_are_neighbours(bits):
    """A step of a bitonic merge: LLVM 22 takes two assumptions about the indices for one, when it need not look at
    what depends on what."""
    far = 1 << bits
    text = kernel("%a: memref<?xi32>", f"""
    %low = arith.constant {far - 1} : i32
    %far = arith.constant {far} : index
    %k64 = arith.constant 64 : i32
    %xi = arith.index_cast %x : index to i32
    %bi = arith.index_cast %b : index to i32
    %first = arith.muli %bi, %k64 overflow<nsw, nuw> : i32
    %twice = arith.muli %xi, %k2 overflow<nsw, nuw> : i32
    %both = arith.addi %first, %twice overflow<nsw, nuw> : i32
    %rest = arith.andi %xi, %low : i32
    %one = arith.subi %both, %rest overflow<nsw> : i32
    %wide = arith.extui %one : i32 to i64
    %i = arith.index_cast %wide : i64 to index
    %j = arith.addi %i, %far : index
    %p = memref.load %a[%i] : memref<?xi32>
    %q = memref.load %a[%j] : memref<?xi32>
    %least = arith.minui %p, %q : i32
    %most = arith.maxui %p, %q : i32
    memref.store %least, %a[%i] : memref<?xi32>
    memref.store %most, %a[%j] : memref<?xi32>""")
    a = np.random.default_rng(0).permutation(128).astype(np.int32)
    expected = np.sort(a.reshape(-1, 2, far), axis=1).reshape(-1)
    native.compile_kernel(text, "kernel", grid=(2,), block=(32,))(a)
    np.testing.assert_array_equal(a, expected)
