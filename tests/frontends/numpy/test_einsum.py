"""einsum compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.numpy.tables import check_table
from tests.oracle import check


def array(*shape, dtype="f8", seed=0):
    random = np.random.default_rng(seed + sum(shape))
    a = random.integers(-4, 5, shape) if np.dtype(dtype).kind in "iub" else random.normal(size=shape)
    return (a + 1j * random.normal(size=shape) if np.dtype(dtype).kind == "c" else a).astype(dtype)


SUBSCRIPTS = [
    ("ij,jk", (2, 3), (3, 4)), ("ij,jk->ik", (2, 3), (3, 4)), ("ii", (3, 3)), ("ii->i", (3, 3)), ("ij->ji", (2, 3)),
    ("ij->", (2, 3)), ("ij->j", (2, 3)), ("...ij,...jk", (5, 2, 3), (3, 4)),
    ("...ij,...jk->...ik", (5, 2, 3), (1, 3, 4)),
    ("i,i", (3,), (3,)), ("i,j", (3,), (4,)), ("i,j->ji", (3,), (4,)), ("ijk,jil->kl", (2, 3, 4), (3, 2, 5)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("ij,ij,ij->", (2, 3), (2, 3), (2, 3)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("iij->ij", (3, 3, 2)), ("ijij->ij", (2, 3, 2, 3)),
    ("iji->j", (3, 2, 3)), ("i...->...", (3, 4)), ("i...,i...", (3, 4), (3, 4)), ("ij,j", (2, 3), (1,)),
    ("ij,k->i", (2, 3), (4,)), ("a,ab,abc->abc", (2,), (2, 3), (2, 3, 4)), ("ba", (2, 3)), ("i->", (0,)),
    (",ij->ij", (), (2, 3)), ("ij,kl,mn->", (2, 3), (2, 2), (3, 1)), ("i,i,i,i->i", (3,), (3,), (3,), (3,)),
    ("ij,jk,ki", (2, 3), (3, 4), (4, 2)), ("ij,jk,kl,lm,mn", (2, 3), (3, 4), (4, 2), (2, 5), (5, 1)),
    # errors
    ("ij,jk->iz", (2, 3), (3, 4)),
    ("ij", (2,)), ("ij,jk", (2, 3), (4, 4)), ("ij,jk->ii", (2, 3), (3, 4)), ("i,j", (2,)),
    ("ii", (2, 3)), ("i$", (2, 3)), ("ij->...", (2, 3)), ("...->", (2, 3)), ("i", (2, 3))]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["f8", "i1"])
@pytest.mark.parametrize("case", SUBSCRIPTS, ids=str)
def test_einsum(case, dtype):
    subscripts, *shapes = case
    check(lambda *operands: np.einsum(subscripts, *operands), *(array(*s, dtype=dtype, seed=n)
                                                               for n, s in enumerate(shapes)), rtol=1e-10, atol=1e-12)


def test_einsum_forms():
    check_table([
        lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2]), lambda a, b: np.einsum(a, [0, 1], b, [1, 2]),
        lambda a, b: np.einsum(b, [..., 0], [...]), lambda a, b: np.einsum("ij,jk", a, b, dtype="f4", casting="unsafe"),
        lambda a, b: np.einsum("ij,jk", a, b, optimize="optimal"), lambda a, b: np.einsum("ij,jk", a > 0, b > 0),
        lambda a, b: np.einsum("ij,jk->ik", a, b, out=np.zeros_like(a @ b)), lambda a, b: np.einsum("i j , j k", a, b),
        lambda a, b: np.einsum("ij,jk", a, b, dtype="i4"), lambda a, b: np.einsum("ij,jk", a, b, bogus=1),
        lambda a, b: np.einsum_path("ij,jk", a, b)[0]], array(2, 3), array(3, 4), rtol=1e-6)


def test_einsum_of_one_operand_is_a_view():
    def write(a):
        diagonal = np.einsum("ii->i", a)
        diagonal[:] = 7
        np.einsum("ij->ji", a)[0, 1] = 5
        return diagonal
    check(write, array(3, 3))
