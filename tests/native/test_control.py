"""Control flow in native code: scf, cf, calls, checks, parallel loops."""
from __future__ import annotations

import numpy as np
import pytest

from reactant import native
from reactant.errors import ReactantError, UnsupportedError

HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = arith.constant 100 : index
"""


def compiled(body: str, arguments: str = "%a: memref<100xi64>", rest: str = "", **options) -> native.NativeFunction:
    return native.compile(f"func.func @f({arguments}) {{\n{HEAD}\n{body}\nreturn\n}}\n{rest}", "f", **options)


def test_while_collatz():
    run = compiled("""
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %three = arith.constant 3 : i64
    %zero = arith.constant 0 : i64
    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %a[%i] : memref<100xi64>
      %r:2 = scf.while (%v = %x, %steps = %zero) : (i64, i64) -> (i64, i64) {
        %go = arith.cmpi sgt, %v, %one : i64
        scf.condition(%go) %v, %steps : i64, i64
      } do {
      ^bb0(%v: i64, %steps: i64):
        %bit = arith.remsi %v, %two : i64
        %odd = arith.cmpi eq, %bit, %one : i64
        %next = scf.if %odd -> i64 {
          %m = arith.muli %v, %three : i64
          %p = arith.addi %m, %one : i64
          scf.yield %p : i64
        } else {
          %h = arith.divsi %v, %two : i64
          scf.yield %h : i64
        }
        %more = arith.addi %steps, %one : i64
        scf.yield %next, %more : i64, i64
      }
      memref.store %r#1, %a[%i] : memref<100xi64>
    }""")

    def collatz(v):
        steps = 0
        while v > 1:
            v, steps = (3 * v + 1 if v % 2 else v // 2), steps + 1
        return steps
    a = np.arange(100)
    run(a)
    assert a.tolist() == [collatz(v) for v in range(100)]


@pytest.mark.parametrize("lower, upper, step", [(0, 100, 1), (3, 98, 7), (50, 50, 1), (60, 20, 3)])
def test_for_carries_values(lower, upper, step):
    run = compiled(f"""
    %lower = arith.constant {lower} : index
    %upper = arith.constant {upper} : index
    %step = arith.constant {step} : index
    %s = arith.constant 5 : i64
    %r:2 = scf.for %i = %lower to %upper step %step iter_args(%x = %s, %y = %s) -> (i64, i64) {{
      %v = arith.index_cast %i : index to i64
      %z = arith.addi %x, %v : i64
      scf.yield %y, %z : i64, i64
    }}
    memref.store %r#0, %a[%c0] : memref<100xi64>
    memref.store %r#1, %a[%c1] : memref<100xi64>""")
    x = y = 5
    for i in range(lower, upper, step):
        x, y = y, x + i
    a = np.zeros(100, np.int64)
    run(a)
    assert (a[0], a[1]) == (x, y)


def test_if_without_else_index_switch_and_execute_region():
    run = compiled("""
    scf.for %i = %c0 to %n step %c1 {
      %r = arith.remsi %i, %c3 : index
      %v = scf.index_switch %r -> i64
      case 0 { %k = arith.constant 10 : i64
               scf.yield %k : i64 }
      case 2 { %k = arith.constant -7 : i64
               scf.yield %k : i64 }
      default { %k = arith.constant 1 : i64
                scf.yield %k : i64 }
      %first = arith.cmpi slt, %i, %c3 : index
      %w = scf.execute_region -> i64 {
        cf.cond_br %first, ^small, ^large(%v : i64)
      ^large(%u: i64):
        %d = arith.addi %u, %u : i64
        scf.yield %d : i64
      ^small:
        scf.yield %v : i64
      }
      scf.if %first { memref.store %w, %a[%r] : memref<100xi64> }
      %late = arith.cmpi sge, %i, %c3 : index
      scf.if %late { memref.store %w, %a[%i] : memref<100xi64> }
    }""")
    a = np.zeros(100, np.int64)
    run(a)
    v = np.array([10, 1, -7])[np.arange(100) % 3]
    assert a.tolist() == np.where(np.arange(100) < 3, v, 2 * v).tolist()


def test_unstructured_loop_and_switch():
    run = native.compile("""
    func.func @f(%a: memref<100xi64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 100 : index
      %zero = arith.constant 0 : i64
      cf.br ^head(%c0, %zero : index, i64)
    ^set(%j: index, %value: i64):
      memref.store %value, %a[%j] : memref<100xi64>
      %next = arith.addi %j, %c1 : index
      cf.br ^head(%next, %value : index, i64)
    ^head(%i: index, %last: i64):
      %go = arith.cmpi slt, %i, %n : index
      cf.cond_br %go, ^body, ^out
    ^body:
      %x = memref.load %a[%i] : memref<100xi64>
      %flag = arith.trunci %x : i64 to i32
      cf.switch %flag : i32, [
        default: ^set(%i, %last : index, i64),
        1: ^set(%i, %x : index, i64),
        2: ^out,
        -3: ^set(%i, %zero : index, i64)
      ]
    ^out:
      return
    }""")
    a = np.array([1, 5, -3, 9, 1, 1, 7, 2, 4, 4] + [3] * 90)
    run(a)
    assert a.tolist() == [1, 1, 0, 0, 1, 1, 1, 2, 4, 4] + [3] * 90


def test_calls_recursion_and_the_c_library():
    run = compiled("""
    %k = arith.constant 20 : i64
    %r:2 = func.call @fib(%k) : (i64) -> (i64, f64)
    memref.store %r#0, %a[%c0] : memref<100xi64>
    %g = func.call @tgamma(%r#1) : (f64) -> f64
    %i = arith.fptosi %g : f64 to i64
    memref.store %i, %a[%c1] : memref<100xi64>""", rest="""
    func.func private @tgamma(f64) -> f64
    func.func private @fib(%n: i64) -> (i64, f64) {
      %one = arith.constant 1 : i64
      %two = arith.constant 2 : i64
      %x = arith.constant 6.0 : f64
      %small = arith.cmpi sle, %n, %one : i64
      %r = scf.if %small -> i64 {
        scf.yield %n : i64
      } else {
        %p = arith.subi %n, %one : i64
        %q = arith.subi %n, %two : i64
        %u:2 = func.call @fib(%p) : (i64) -> (i64, f64)
        %v:2 = func.call @fib(%q) : (i64) -> (i64, f64)
        %s = arith.addi %u#0, %v#0 : i64
        scf.yield %s : i64
      }
      return %r, %x : i64, f64
    }""")
    a = np.zeros(100, np.int64)
    run(a)
    assert a[0] == 6765 and a[1] in (119, 120)


CHECKED = """
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %x = memref.load %a[%i] : memref<100xi64>
      func.call @check(%x) : (i64) -> ()
      %y = arith.addi %x, %x : i64
      memref.store %y, %a[%i] : memref<100xi64>
      scf.reduce
    }"""
CHECK = """
    func.func private @check(%x: i64) {
      %zero = arith.constant 0 : i64
      %big = arith.constant 1000 : i64
      %ok = arith.cmpi sge, %x, %zero : i64
      cf.assert %ok, "a number is negative"
      %ok2 = arith.cmpi slt, %x, %big : i64
      cf.assert %ok2, "a number is \\"large\\""
      return
    }"""


def test_checks_report_the_first_failure():
    run = compiled(CHECKED, rest=CHECK)
    a = np.arange(100)
    run(a)
    assert a.tolist() == list(range(0, 200, 2))
    a[70] = -1
    with pytest.raises(native.NativeError, match="a number is negative"):
        run(a)
    a[70] = 5000
    with pytest.raises(native.NativeError, match='a number is "large"'):
        run(a)


@pytest.mark.parametrize("shape", [(7,), (5, 9), (3, 4, 6), (2, 3, 2, 5)])
@pytest.mark.parametrize("offset, step", [(0, 1), (1, 2)])
def test_parallel_of_any_rank(shape, offset, step):
    rank = len(shape)
    kind = "x".join(map(str, shape)) + "xi64"
    counters = ", ".join(f"%i{d}" for d in range(rank))
    uppers = "\n".join(f"%u{d} = arith.constant {s} : index" for d, s in enumerate(shape))
    run = compiled(f"""
    {uppers}
    %o = arith.constant {offset} : index
    %s = arith.constant {step} : index
    scf.parallel ({counters}) = ({', '.join(['%o'] * rank)}) to ({', '.join(f'%u{d}' for d in range(rank))})
        step ({', '.join(['%s'] * rank)}) {{
      %x = memref.load %a[{counters}] : memref<{kind}>
      %v = arith.index_cast %i{rank - 1} : index to i64
      %y = arith.muli %x, %v : i64
      memref.store %y, %a[{counters}] : memref<{kind}>
      scf.reduce
    }}""", f"%a: memref<{kind}>")
    a = np.arange(np.prod(shape)).reshape(shape) + 1
    expected = a.copy()
    where = (slice(offset, None, step),) * rank
    expected[where] *= np.arange(shape[-1])[offset::step]
    run(a)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("columns", [2, 3, 4, 7, 8])
def test_iterations_that_read_back_what_they_stored(columns):
    """Running sums of short rows: LLVM unrolls the row and takes several rows at once, and must keep the order."""
    kind = f"{64 * columns}xi64"
    run = compiled(f"""
    %w = arith.constant {columns} : index
    %m = arith.constant 64 : index
    %back = arith.constant -1 : index
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {{
      %row = arith.muli %i, %w : index
      %first = memref.load %a[%row] : memref<{kind}>
      memref.store %first, %b[%row] : memref<{kind}>
      scf.for %j = %c1 to %w step %c1 {{
        %here = arith.addi %row, %j : index
        %x = memref.load %a[%here] : memref<{kind}>
        %there = arith.addi %here, %back : index
        %y = memref.load %b[%there] : memref<{kind}>
        %z = arith.addi %x, %y : i64
        memref.store %z, %b[%here] : memref<{kind}>
      }}
      scf.reduce
    }}""", f"%a: memref<{kind}>, %b: memref<{kind}>")
    a, b = np.arange(64 * columns) % 11, np.full(64 * columns, -10**9)
    run(a, b)
    np.testing.assert_array_equal(b.reshape(64, columns), np.cumsum(a.reshape(64, columns), axis=1))


def test_parallel_reduction():
    run = compiled("""
    %zero = arith.constant 0 : i64
    %low = arith.constant -1000 : i64
    %r:2 = scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c3) step (%c1, %c1) init (%zero, %low) -> (i64, i64) {
      %x = memref.load %a[%i] : memref<100xi64>
      %v = arith.index_cast %j : index to i64
      %y = arith.muli %x, %v : i64
      scf.reduce(%y, %y : i64, i64) {
      ^bb0(%p: i64, %q: i64):
        %s = arith.addi %p, %q : i64
        scf.reduce.return %s : i64
      }, {
      ^bb0(%p: i64, %q: i64):
        %s = arith.maxsi %p, %q : i64
        scf.reduce.return %s : i64
      }
    }
    memref.store %r#0, %a[%c0] : memref<100xi64>
    memref.store %r#1, %a[%c1] : memref<100xi64>""")
    a = np.random.default_rng(0).integers(-50, 50, 100)
    products = a[:, None] * np.arange(3)
    run(a)
    assert (a[0], a[1]) == (products.sum(), products.max())


def test_unknown_operations_are_named():
    with pytest.raises(UnsupportedError, match="no gpu.thread_id"):
        compiled("%t = gpu.thread_id x")
    with pytest.raises(UnsupportedError, match="@nowhere, which has no body"):
        compiled("func.call @nowhere() : () -> ()", rest="func.func private @nowhere()")
    with pytest.raises(ReactantError, match="no function @g"):
        native.compile("func.func @f() { return }", "g")


@pytest.mark.machine_code
def test_independent_iterations_are_vector_code_whatever_the_arrays():
    """Pointers that change places in a loop may be any array to LLVM: 14 iterations would be one after the other."""
    def text(note):
        return f"""
func.func @swapped(%a: memref<14xf64>, %b: memref<14xf64>, %out: memref<14xf64>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c14 = arith.constant 14 : index
  %h = arith.constant 0.5 : f64
  scf.for %k = %c0 to %c3 step %c1 iter_args(%x = %a, %y = %b) -> (memref<14xf64>, memref<14xf64>) {{
    scf.for %i = %c0 to %c14 step %c1 {{
      %u = memref.load %x[%i] : memref<14xf64>
      %v = memref.load %y[%i] : memref<14xf64>
      %w = arith.mulf %u, %h : f64
      %z = arith.addf %w, %v : f64
      memref.store %z, %y[%i] : memref<14xf64>
      memref.store %w, %out[%i] : memref<14xf64>
    }} {note}
    scf.yield %y, %x : memref<14xf64>, memref<14xf64>
  }}
  return
}}"""
    a, b, out = np.arange(14.0), np.linspace(1, 2, 14), np.zeros(14)
    for note in ("", "{native.independent}"):
        x, y = a.copy(), b.copy()
        native.compile(text(note), roles=["inout", "inout", "out"])(x, y, out)
        u, v = a.copy(), b.copy()
        for _ in range(3):
            v += 0.5 * u
            u, v = v, u
        np.testing.assert_array_equal(x, v)
        np.testing.assert_array_equal(y, u)
    noted = native.compile(text("{native.independent}"), roles=["inout", "inout", "out"]).as_llvm(optimized=True)
    assert "fmul <" in noted
