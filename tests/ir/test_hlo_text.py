"""XLA's text of programs, read."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reactant.ir import hlo_text


def program(x):
    def iteration(i, y):
        return jnp.where(i > 3, jnp.sin(y), y @ x)
    return jax.lax.fori_loop(0, 10, iteration, x), x[2:5] * 2


@pytest.fixture(scope="module")
def text():
    return jax.jit(program).lower(np.ones((8, 8), np.float32)).compile().as_text()


def test_computations_instructions_and_lines(text):
    entry, found = hlo_text.computations(text)
    lines = hlo_text.lines_of(text)
    everything = [i for instructions in found.values() for i in instructions]
    loop, = [i for i in everything if i.opcode == "while"]
    assert loop.trips == 10 and set(loop.called) <= found.keys() and len(loop.called) == 2
    parameters = [i for i in found[entry] if i.opcode == "parameter"]
    assert [i.operands for i in parameters] == [("0",)] and hlo_text.size_of(parameters[0].shape) == 256
    own = {(i.listed_line(lines) or i.written_line or ("", 0))[0] for i in everything}
    assert __file__ in own


@pytest.mark.parametrize("shape, nbytes, parts", [
    ("f32[3,4]{1,0}", 48, [("f32", 12)]),
    ("(f64[2]{0}, pred[], s4[3])", 16 + 1 + 2, [("f64", 2), ("pred", 1), ("s4", 3)]),
    ("c128[0,5]", 0, [("c128", 0)]),
    ("bf16[<=4]", 8, [("bf16", 4)]),
    ("token[]", 0, [("token", 1)]),
])
def test_shapes(shape, nbytes, parts):
    assert hlo_text.size_of(shape) == nbytes and hlo_text.parts_of(shape) == parts


def test_refusals():
    with pytest.raises(ValueError, match="no module"):
        hlo_text.computations("nothing")
    with pytest.raises(ValueError, match="'strange'"):
        hlo_text.size_of("strange[3]")
