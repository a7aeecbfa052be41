"""What is read from XLA's programs: flops, bytes, lines."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reactant.profiling import hlo_costs

HLO = """HloModule jit_f

%fused (p0: f64[1000], p1: f64[100,100]) -> f64[100] {
  %p1 = f64[100,100]{1,0} parameter(1)
  %p0 = f64[1000]{0} parameter(0)
  %row = f64[1,100]{1,0} slice(%p1), slice={[3:4], [0:100]}
  %flat = f64[100]{0} bitcast(%row)
  %part = f64[100]{0} slice(%p0), slice={[0:100]}
  %sum = f64[100]{0} add(%flat, %part), metadata={op_name="a" source_file="/u/a.py" source_line=3}
  ROOT %exp = f64[100]{0} exponential(%sum), metadata={op_name="b" source_file="/u/a.py" source_line=4}
}

%written (q0: f64[1000], q1: f64[10], q2: s32[]) -> f64[1000] {
  %q0 = f64[1000]{0} parameter(0)
  %q1 = f64[10]{0} parameter(1)
  %q2 = s32[] parameter(2)
  %twice = f64[10]{0} add(%q1, %q1)
  ROOT %put = f64[1000]{0} dynamic-update-slice(%q0, %twice, %q2)
}

ENTRY %main (a: f64[1000], b: f64[100,100], c: f32[8,16], d: f32[16,32], w: f64[10], k: s32[]) -> f64[100] {
  %a = f64[1000]{0} parameter(0)
  %b = f64[100,100]{1,0} parameter(1)
  %c = f32[8,16]{1,0} parameter(2)
  %d = f32[16,32]{1,0} parameter(3)
  %w = f64[10]{0} parameter(4)
  %k = s32[] parameter(5)
  %dot = f32[8,32]{1,0} dot(%c, %d), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %put = f64[1000]{0} fusion(%a, %w, %k), kind=kLoop, calls=%written
  %lu = (f64[100,100]{0,1}, s32[100]{0}) custom-call(%b), custom_call_target="lapack_dgetrf_ffi"
  %any = f64[100]{0} custom-call(%b), custom_call_target="somebody.elses"
  ROOT %fusion = f64[100]{0} fusion(%a, %b), kind=kLoop, calls=%fused
}
"""


@pytest.fixture(scope="module")
def found():
    return hlo_costs.described(HLO)


def test_names(found):
    assert set(found) == {"dot", "put", "lu", "any", "fusion"}, "what is in fusions is no thunk"


@pytest.mark.parametrize("name, flops, doubles, special, nbytes", [
    ("dot", 2 * 8 * 16 * 32, 0, 0, 4 * (8 * 16 + 16 * 32 + 8 * 32)),
    ("fusion", 100, 100, 100, 8 * (100 + 100 + 100)),           # parts of both arrays
    ("put", 10, 10, 0, 8 * (10 + 10) + 4),                      # in place
    ("lu", 2 / 3 * 1e6, 2 / 3 * 1e6, 0, 8 * 20000 + 400),
    ("any", 0, 0, 0, 8 * 10100),
])
def test_work(found, name, flops, doubles, special, nbytes):
    work = found[name].work
    assert (work.flops, work.doubles, work.special) == pytest.approx((flops, doubles, special))
    assert work.bytes == nbytes == work.footprint


def test_lines_share_by_what_is_done_for_them(found):
    assert found["fusion"].lines == pytest.approx({"/u/a.py:3": 1 / 11, "/u/a.py:4": 10 / 11})
    assert found["fusion"].what == "add, exponential, slice x2"
    assert found["lu"].target == "lapack_dgetrf_ffi" and found["lu"].shapes == [(100, 100), (100, 100)]


def test_loops_know_what_is_in_them():
    def f(x):
        return jax.lax.fori_loop(0, 10, lambda i, y: jax.lax.cond(i > 3, jnp.sin, lambda z: z @ x, y), x)
    found = hlo_costs.described(jax.jit(f).lower(np.ones((8, 8))).compile().as_text())
    loop, = [each for each in found.values() if each.opcode == "while"]
    assert loop.trips == 10 and set(loop.body) <= set(loop.inside)
    assert any(name in found and found[name].opcode == "conditional" for name in loop.body)
    assert sum(each.work.flops for each in found.values()) >= 2 * 8 ** 3
