"""Object files that are loaded without LLVM: they do what LLVM's own loader has them do."""
import ctypes

import numpy as np
import pytest

import reactant
from reactant.native import engine, objects
from reactant.native.recalled import Code

pytestmark = pytest.mark.skipif(not objects.usable(), reason="object files of another system")

TEXT = """
declare double @sin(double)
declare double @elsewhere(double)
@table = internal constant [3 x double] [double 1.0, double 2.0, double 4.0]
@names = internal constant [1 x ptr] [ptr @table]
@kept = internal global i64 0
@zeros = internal global [100 x i64] zeroinitializer
define double @f(double %x, i64 %k) {
  %n = load i64, ptr @kept
  %m = add i64 %n, 1
  store i64 %m, ptr @kept
  %t = load ptr, ptr @names
  %p = getelementptr double, ptr %t, i64 %k
  %v = load double, ptr %p
  %s = call double @sin(double %x)
  %e = call double @elsewhere(double %s)
  %r = fmul double %v, %e
  ret double %r
}
define i64 @count() {
  %n = load i64, ptr @kept
  %z = load i64, ptr getelementptr ([100 x i64], ptr @zeros, i64 0, i64 99)
  %r = add i64 %n, %z
  ret i64 %r
}
"""
ELSEWHERE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x + 10.0)


def code():
    with engine._lock:
        return engine._machine_code(TEXT, engine._machine(), 3)


def resolve(name):
    return ctypes.cast(ELSEWHERE, ctypes.c_void_p).value if name == "elsewhere" else objects.of_process(name)


def test_functions_constants_variables_and_calls_of_others():
    found = objects.load("test.objects", code(), ("f", "count"), resolve)
    f = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)(found["f"])
    count = ctypes.CFUNCTYPE(ctypes.c_int64)(found["count"])
    for k in range(3):
        assert f(0.5, k) == 2.0**k * (np.sin(0.5) + 10.0)
    assert count() == 3
    assert objects.load("test.objects", b"another", ("f",), resolve) is found        # a name is loaded once


@pytest.mark.parametrize("change, match", [
    (lambda data: data[:60], "no object"), (lambda data: b"X" + data[1:], "no object"),
    (lambda data: data[:40] + b"\xff" * 8 + data[48:], "damaged"), (lambda data: data[:-200], "damaged"),
])
def test_what_is_no_object_file_is_refused(change, match):
    with pytest.raises(objects.UnknownObject, match=match):
        objects.load("test.refused", change(code()), ("f",), resolve)
    assert objects.known("test.refused") is None


def test_what_is_missing_is_refused():
    with pytest.raises(objects.UnknownObject, match="nobody has 'elsewhere'"):
        objects.load("test.missing", code(), ("f",), objects.of_process)
    with pytest.raises(objects.UnknownObject, match="it has no 'g'"):
        objects.load("test.missing", code(), ("g",), resolve)


def test_a_programs_code_brings_what_it_calls():
    def f(x):
        return np.sort(np.exp(x) ** 1.7)[::-1] * 2.0
    compiled = reactant.jit(f, native="always").lower(np.ones(1000)).compile()
    names = [step.function.target for step in compiled.executable.straight.steps]
    for step in compiled.executable.straight.steps:
        step.function.entry()
    listed = list(Code.of(names).files)
    assert listed.index("reactant.support") < listed.index(names[0])
