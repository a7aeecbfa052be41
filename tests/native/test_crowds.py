"""Which loops LLVM may write out: few, or those that run often."""
import numpy as np
import pytest

from reactant import native
from reactant.ir import modules
from reactant.ir.context import building
from reactant.native.control import ONCE
from reactant.native.crowds import note_crowds

NEST = """
  scf.for %i{k} = %c0 to %c20 step %c1 {{
    %r{k} = scf.for %j{k} = %c0 to %c20 step %c1 iter_args(%t{k} = %zero) -> (f64) {{
      %x{k} = memref.load %a[%j{k}] : memref<20xf64>
      %y{k} = arith.mulf %x{k}, %x{k} : f64
      %z{k} = arith.mulf %y{k}, %y{k} : f64
      %s{k} = arith.addf %t{k}, %z{k} : f64
      scf.yield %s{k} : f64
    }}
    memref.store %r{k}, %b[%i{k}] : memref<20xf64>
  }}"""
SHORT = """
  scf.for %i{k} = %c0 to %c2 step %c1 {{
    %x{k} = memref.load %a[%i{k}] : memref<20xf64>
    memref.store %x{k}, %b[%i{k}] : memref<20xf64>
  }}"""


def text(body, around=""):
    inside = f"{around} {{ {body} }}" if around else body
    return f"""func.func @f(%a: memref<20xf64>, %b: memref<20xf64>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c20 = arith.constant 20 : index
  %zero = arith.constant 0.0 : f64
  {inside}
  return
}}"""


def marked(source):
    """Loops, those that are not written out, and what the others become."""
    with building():
        module = modules.parse(source)
        written_out = note_crowds(modules.function(module, "f"))
        loops = [op for op in modules.walk(modules.function(module, "f")) if op.name == "scf.for"]
        return len(loops), sum(ONCE in op.attributes for op in loops), written_out


def nests(count, template=NEST):
    return "".join(template.format(k=k) for k in range(count))


@pytest.mark.parametrize(("source", "loops", "once"), [
    (text(nests(4)), 8, 0),
    (text(nests(40)), 80, 80),
    (text(nests(40) + SHORT.format(k=99)), 81, 80),
    (text(nests(400, SHORT)), 400, 0),
    (text(nests(40), "scf.for %time = %c0 to %c20 step %c1"), 81, 0),
    (text(nests(200), "scf.for %time = %c0 to %c20 step %c1"), 401, 400),
])
def test_loops_that_run_once_are_not_written_out(source, loops, once):
    found, plain, written_out = marked(source)
    assert (found, plain) == (loops, once)
    assert (written_out > 0) == (once < loops - 1)


def test_the_code_is_the_same():
    function = native.compile(text(nests(40)), roles=["in", "out"])
    a, b = np.arange(20.0), np.empty(20)
    function(a, b)
    np.testing.assert_array_equal(b, (a**4).sum())
    assert "llvm.loop.unroll.disable" in function.as_llvm()
    assert 0 < native.compile(text(nests(4)), roles=["in", "out"]).seconds < function.seconds + 1
