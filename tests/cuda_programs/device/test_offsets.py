"""Shapes of integers against the integers themselves."""
import itertools
import random

import pytest

from reactant.cuda_programs.device.offsets import ALL, Shape, constant, of_two

DO = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "shl": lambda a, b: a << b,
      "and": lambda a, b: a & b, "xor": lambda a, b: a ^ b, "lshr": lambda a, b: a >> b}


def signed(value):
    return value - 2**32 if value >> 31 else value


@pytest.mark.parametrize("how", [*DO, "ashr"])
def test_shapes_are_what_integers_are(how):
    rng = random.Random(how)
    told = 0
    for _ in range(400):
        known = rng.choice([0, 1, 3, 4, 5, 8, 31])
        shape = Shape(tuple(rng.choice([range(8), range(0, 24, 3), [0] * 8, [0, 1, 0, 1, 4, 5, 4, 5]])), known,
                      rng.getrandbits(31) & (1 << known) - 1)
        value = rng.choice([*range(9), 15, 16, 24, 31, 255, -1, -8, 2**31 - 1])
        value = value & 31 if how in ("shl", "lshr", "ashr") else value
        found = of_two(how, shape, constant(value, 8), 32)
        if found is None:
            continue
        told += 1
        for _ in range(5):
            first = (rng.getrandbits(32) >> known << known | shape.low) & 2**32 - 1
            each = [(first + o) & 2**32 - 1 for o in shape.offsets]
            done = [(signed(e) >> value if how == "ashr" else DO[how](e, value)) & 2**32 - 1 for e in each]
            assert [(d - done[0] - o) % 2**32 for d, o in zip(done, found.offsets, strict=True)] == [0] * 8
            assert (done[0] ^ found.low) & (1 << found.known) - 1 == 0
    assert told > 60


def test_lanes_and_warps():
    t = Shape(tuple(range(8)), 3)
    assert of_two("and", t, constant(31, 8), 32).step == 1 and of_two("lshr", t, constant(5, 8), 32).step == 0
    assert of_two("and", t, constant(3, 8), 32).offsets == (0, 1, 2, 3, 0, 1, 2, 3)
    assert of_two("and", Shape(t.offsets), constant(31, 8), 32) is None
    assert of_two("lshr", Shape(t.offsets), constant(5, 8), 32) is None


def test_what_two_agree_in():
    for a, b in itertools.product(range(8), range(8)):
        both = Shape((0,) * 8, 3, a).agreed(Shape((0,) * 8, ALL, b))
        assert all((a ^ b) >> bit & 1 == 0 for bit in range(both.known)) and (a == b) == (both.known == 3)
    assert Shape((0, 1)).agreed(Shape((0, 2))) is None
