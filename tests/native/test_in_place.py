"""Results are written where arguments lie, wherever nobody can tell, and nowhere else."""
import numpy as np
import pytest

import reactant
from reactant import native
from reactant.errors import OverlapError
from reactant.ir import modules
from reactant.ir.context import building
from reactant.native import bounds
from reactant.native.in_place import writing_over


def added(a):
    a += 1
    return a


def part(m):
    m[1:-1, 2:] *= 2


def corner(m):
    m[0, 0] = m[-1, -1]


def less_greatest(m):
    m -= m.max(axis=1, keepdims=True)


def less_first_row(m):
    m -= m[0]


def less_column(m):
    m -= m[:, -1:]


def shifted(a):
    a[1:] += a[:-1]


def shifted_down(a):
    a[:-1] = a[1:]


def reversed_(a):
    a[:] = a[::-1]


def stencil(m):
    m[1:-1] = m[2:] + m[:-2]


def turned(m):
    m[:] = m.T


def gathered(a):
    a[:] = a[np.arange(a.size)[::-1] // 2]


def masked(a):
    a[a > 3] = 0


def summed(a):
    np.cumsum(a, out=a)


def less_sum(a):
    a -= a.sum()


def swapped(a, b):
    a[:], b[:] = b.copy(), a.copy()


def mixed(a, b):
    a[:] = a + b
    b[:] = a - b


def mixed_backwards(a, b):
    a[:] = a + b[::-1]
    b[:] = b * a


def both_alike(a, b):
    a[:] = b * 2
    b[:] = a
    return b.copy(), a[::2]


def not_read(a, b):
    np.add(b, 1, out=a)


def copied(a, b):
    a[:] = b


def filled(a):
    a[:] = 3


def old_and_new(a):
    old = a.copy()
    a *= 2
    return old, a.copy(), old + a


def looped(a):
    for k in range(1, a.size):
        a[k] = a[k] + a[k - 1]


def evens(a):
    a[:a.size // 2 * 2:2] += a[1::2]


def halves(a):
    n = a.size // 2
    a[:n] += a[n:2 * n]


def ordered(a):
    a.sort()


def steps(a, b):
    for _ in range(3):
        a += b
        b *= 2
    return a.sum()


WHERE_IT_LIES = {added, part, corner, less_greatest, less_column, less_sum, masked, summed, looped, mixed,
                 mixed_backwards, both_alike, not_read, old_and_new, evens, halves, steps}
"""Functions whose first argument is written where it lies."""
FUNCTIONS = (added, part, corner, less_greatest, less_first_row, less_column, shifted, shifted_down, reversed_, stencil,
             turned, gathered, masked, summed, less_sum, swapped, mixed, mixed_backwards, both_alike, not_read, copied,
             filled, old_and_new, looped, evens, halves, ordered, steps)
DTYPES = (np.float64, np.float32, np.int64, np.int8, np.uint16, np.complex128, np.float16, np.bool_)
LAYOUTS = {
    "as it is": lambda a: a, "Fortran's order": np.asfortranarray,
    "every second": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "not aligned": lambda a: np.frombuffer(bytearray(b"x" + a.tobytes()), np.uint8)[1:].view(a.dtype).reshape(a.shape),
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder(">")),
}


def given(function, dtype, n=36):
    names, side = function.__code__.co_varnames[:function.__code__.co_argcount], int(n ** 0.5)
    made = [(np.arange(n) * 37 % 11 + k) for k in range(len(names))]
    return [x.astype(dtype).reshape((side, side) if name == "m" else -1) for x, name in zip(made, names, strict=True)]


def same(found, wanted):
    if isinstance(wanted, tuple):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if wanted is None:
        return found is None
    found, wanted = np.asarray(found), np.asarray(wanted)
    found = found.astype(found.dtype.newbyteorder("="))
    return found.dtype == wanted.dtype.newbyteorder("=") and found.shape == wanted.shape and (
        np.allclose(found, wanted, rtol=2e-3 if wanted.dtype == np.float16 else 1e-6) if wanted.dtype.kind in "fc"
        else (found == wanted).all())


@pytest.mark.sampled(100)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_arguments_hold_what_numpy_writes(function):
    for dtype in DTYPES:
        for lay in list(LAYOUTS.values())[:None if dtype in (np.float64, np.int8) else 1]:
            plain, mine = ([lay(x) for x in given(function, dtype)] for _ in range(2))
            try:
                with np.errstate(over="ignore"):
                    wanted = function(*plain)
            except TypeError:           # bool has no `-`
                continue
            compiled = reactant.jit(function)
            assert same(compiled(*mine), wanted)
            assert all(map(same, mine, plain)), (dtype, lay)
            again = [lay(x) for x in given(function, dtype)]
            compiled(*again)
            assert all(map(same, again, plain))


@pytest.mark.parametrize("n", [0, 1, 4, 1 << 17, (1 << 17) + 9])
def test_sizes(n):
    for function in (added, shifted, reversed_, masked, mixed, summed, evens, not_read, old_and_new):
        plain, mine = given(function, np.float64, n), given(function, np.float64, n)
        wanted = function(*plain)
        assert same(reactant.jit(function)(*mine), wanted) and all(map(same, mine, plain))
    plain, mine = np.array(4.0), np.array(4.0)
    assert same(reactant.jit(added)(mine), added(plain)) and same(mine, plain)


def written(function, *arguments):
    straight = reactant.jit(function).lower(*arguments).program().executable.straight
    return straight is not None and [each.result for each in straight.over]


@pytest.mark.machine_code
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_where_it_lies(function):
    for n in (400, 1 << 18) if function is not looped else (400, 4000):
        arguments = given(function, np.float64, n)
        program = reactant.jit(function).lower(*arguments).program()
        straight = program.executable.straight
        first = straight and 0 in program.lowered.traced.written and \
            program.lowered.traced.written[0] in straight.written
        assert bool(first) == (function in WHERE_IT_LIES), n
        if first:
            plain = given(function, np.float64, n)
            assert same(program(*arguments), function(*plain)) and all(map(same, arguments, plain))


def test_by_columns():
    m = np.asfortranarray(np.arange(600.0).reshape(20, 30))
    assert written(added, m) == [0] or bounds.wanted()
    wanted = m + 1
    assert reactant.jit(added)(m) is m
    np.testing.assert_array_equal(m, wanted)

    def with_rows(m, w):
        m += w
    w = np.arange(600.0).reshape(20, 30)
    wanted = m + w
    reactant.jit(with_rows)(m, w)
    np.testing.assert_array_equal(m, wanted)


def test_what_numpy_refuses_stays_as_it_was():
    a = np.arange(300.0)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        reactant.jit(added)(a)
    compiled, b = reactant.jit(added), np.arange(300.0)
    compiled(b)
    with pytest.raises(ValueError, match="read-only"):
        compiled(a)
    np.testing.assert_array_equal(a, np.arange(300.0))


def test_arguments_that_overlap():
    whole = np.arange(500.0)
    with pytest.raises(OverlapError):
        reactant.jit(mixed)(whole[1:], whole[:-1])
    np.testing.assert_array_equal(whole, np.arange(500.0))
    compiled = reactant.jit(mixed)
    compiled(whole[:250], whole[250:])          # side by side
    with pytest.raises(OverlapError):
        compiled(whole[:250], whole[200:450])
    plain, mine = np.arange(500.0), np.arange(500.0)
    mixed(plain, plain)
    compiled(mine, mine)                        # the same twice
    np.testing.assert_array_equal(mine, plain)


CAPTURED = np.arange(300.0)


def test_an_array_outside_that_is_the_argument():
    def function(a):
        a += CAPTURED[::-1]
    plain, before = CAPTURED + CAPTURED[::-1], CAPTURED.copy()
    reactant.jit(function)(CAPTURED)
    np.testing.assert_array_equal(CAPTURED, plain)
    CAPTURED[:] = before


def test_a_failed_check_leaves_arguments_alone():
    def function(a, k):
        a += 1
        a[k] = 0
        return a
    compiled, a = reactant.jit(function), np.arange(300.0)
    with pytest.raises(IndexError):
        compiled(a, np.int64(300))
    np.testing.assert_array_equal(a, np.arange(300.0))
    compiled(a, np.int64(299))
    assert a[-1] == 0 and a[0] == 1


def test_programs_that_take_iterations_with_results_of_their_own():
    """What is returned is nobody's argument."""
    compiled, a = reactant.jit(old_and_new), np.arange(300.0)
    old, new, total = compiled(a)
    assert not any(np.shares_memory(x, a) for x in (old, new, total)) and not np.shares_memory(new, total)
    np.testing.assert_array_equal(new, a)
    new[:] = 5
    np.testing.assert_array_equal(a, 2 * old)


TEXT = """func.func @f(%x: memref<24xf64>, %z: memref<1xi64>, %y: memref<24xf64>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %c24 = arith.constant 24 : index
  {body}
  return }}"""
BODIES = {
    "each place": (True, """scf.for %i = %c0 to %c24 step %c1 {
        %v = memref.load %x[%i] : memref<24xf64>
        memref.store %v, %y[%i] : memref<24xf64> }"""),
    "a place that was": (False, """scf.for %i = %c1 to %c24 step %c1 {
        %j = arith.subi %i, %c1 : index
        %v = memref.load %x[%j] : memref<24xf64>
        memref.store %v, %y[%i] : memref<24xf64> }"""),
    "written first": (False, """scf.for %i = %c0 to %c24 step %c1 {
        %c = arith.constant 2.0 : f64
        memref.store %c, %y[%i] : memref<24xf64>
        %v = memref.load %x[%i] : memref<24xf64>
        memref.store %v, %y[%i] : memref<24xf64> }"""),
    "rows and columns": (True, """scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c6) step (%c1, %c1) {
        %r = arith.muli %i, %c6 : index
        %p = arith.addi %r, %j : index
        %v = memref.load %x[%p] : memref<24xf64>
        memref.store %v, %y[%p] : memref<24xf64>
        scf.reduce }"""),
    "rows that overlap": (False, """scf.for %i = %c0 to %c4 step %c1 {
        %r = arith.muli %i, %c4 : index
        scf.for %j = %c0 to %c6 step %c1 {
          %p = arith.addi %r, %j : index
          %v = memref.load %x[%p] : memref<24xf64>
          memref.store %v, %y[%p] : memref<24xf64> } }"""),
    "again and again": (False, """scf.for %i = %c0 to %c4 step %c1 {
        scf.for %j = %c0 to %c24 step %c1 {
          %v = memref.load %x[%j] : memref<24xf64>
          %w = arith.addf %v, %v : f64
          memref.store %w, %y[%j] : memref<24xf64> } }"""),
    "once around": (True, """scf.for %i = %c0 to %c1 step %c1 {
        scf.for %j = %c0 to %c24 step %c1 {
          %v = memref.load %x[%j] : memref<24xf64>
          memref.store %v, %y[%j] : memref<24xf64> } }"""),
    "two columns": (True, """scf.for %i = %c0 to %c4 step %c1 {
        %r = arith.muli %i, %c6 : index
        %c = arith.constant 2.0 : f64
        memref.store %c, %y[%r] : memref<24xf64> }
      scf.for %i = %c0 to %c4 step %c1 {
        %r = arith.muli %i, %c6 : index
        scf.for %j = %c1 to %c6 step %c1 {
          %p = arith.addi %r, %j : index
          %v = memref.load %x[%p] : memref<24xf64>
          memref.store %v, %y[%p] : memref<24xf64> } }"""),
    "a column twice": (False, """scf.for %i = %c0 to %c4 step %c1 {
        %r = arith.muli %i, %c6 : index
        %c = arith.constant 2.0 : f64
        memref.store %c, %y[%r] : memref<24xf64> }
      scf.for %i = %c0 to %c4 step %c1 {
        %r = arith.muli %i, %c6 : index
        scf.for %j = %c0 to %c6 step %c1 {
          %p = arith.addi %r, %j : index
          %v = memref.load %x[%p] : memref<24xf64>
          memref.store %v, %y[%p] : memref<24xf64> } }"""),
    "from a place that is told": (True, """%o = memref.load %z[%c0] : memref<1xi64>
      %b = arith.index_cast %o : i64 to index
      scf.for %i = %c0 to %c24 step %c1 {
        %p = arith.addi %b, %i : index
        %v = memref.load %x[%p] : memref<24xf64>
        memref.store %v, %y[%i] : memref<24xf64> }"""),
    "a half and what it adds": (True, """%c12 = arith.constant 12 : index
      scf.for %i = %c12 to %c24 step %c1 {
        %v = memref.load %x[%i] : memref<24xf64>
        memref.store %v, %y[%i] : memref<24xf64> }
      scf.for %i = %c0 to %c12 step %c1 {
        %p = arith.addi %i, %c12 : index
        %v = memref.load %x[%i] : memref<24xf64>
        %w = memref.load %x[%p] : memref<24xf64>
        %s = arith.addf %v, %w : f64
        memref.store %s, %y[%i] : memref<24xf64> }"""),
    "by a table": (False, """scf.for %i = %c0 to %c24 step %c1 {
        %v = memref.load %x[%i] : memref<24xf64>
        %n = arith.fptosi %v : f64 to i64
        %p = arith.index_cast %n : i64 to index
        %w = memref.load %x[%p] : memref<24xf64>
        memref.store %w, %y[%i] : memref<24xf64> }"""),
    "all of it first": (True, """%s = scf.for %i = %c0 to %c24 step %c1 iter_args(%a = %c0) -> (index) {
        %v = memref.load %x[%a] : memref<24xf64>
        scf.yield %i : index }
      scf.for %i = %c0 to %c24 step %c1 {
        %v = memref.load %x[%i] : memref<24xf64>
        memref.store %v, %y[%i] : memref<24xf64> }"""),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_order_of_reads_and_writes(name):
    right, body = BODIES[name]
    if name != "a half and what it adds":       # what is put back as it was does no harm
        body = body.replace("memref.store %v,", "%d = arith.addf %v, %v : f64\n memref.store %d,")
    with building():
        function = native.compile(modules.parse("module { " + TEXT.format(body=body) + "}"), roles=["in", "in", "out"])
    made, fine = writing_over(function, {2: (0,)}, frozenset({1}))
    assert (fine == {2}) == right == (made is not function)
    x, y, z = np.arange(24.0)[::-1].copy(), np.full(24, -1.0), np.zeros(1, np.int64)
    function(x, z, y)
    if right:
        made(np.full(24, np.nan), z, x)         # the first is not looked at
        np.testing.assert_array_equal(x, y)
