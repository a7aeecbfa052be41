"""Lists of run-time length that later loops append to and read, elements from before the first loop among them."""
import numpy as np
import pytest

from tests.frontends.agreement import agree

ARGUMENTS = [(np.array([0.9, 0.2, 0.7, 0.4, 0.65, 0.3]), np.array([0, 1])), (np.array([0.1, 0.6, 0.2, 0.3, 0.8, 0.5]),
                                                                             np.array([1, 0]))]


def grown(x):
    out = [x[0]]
    for i in range(5):
        if x[i] > 0.5:
            out.append(x[i])
    return out


def length(x, k):
    out = grown(x)
    c = 0
    for i in range(5):
        if x[i] > 0.3:
            out.append(1.0)
        c = len(out)
    return c, len(out)


def length_after_a_branch(x, k):
    rows = [[x[0]], [x[1], x[2]]]
    if x[0] > 0.5:
        rows[0].append(1.0)
    else:
        rows[1].append(2.0)
    c = 0
    for i in range(5):
        if x[i] > 0.3:
            rows[k[1] % 2].append(1.0)
        c = len(rows[0])
    return c, [len(r) for r in rows]


def elements_at_places(x, k):
    rows = [[x[0]], [x[1], x[2]]]
    if x[0] > 0.5:
        rows[0].append(1.0)
    else:
        rows[1].append(2.0)
    c = 0
    s = 0.0
    for i in range(5):
        if x[i] > 0.3:
            rows[k[1] % 2].append(1.0)
        c = len(rows[k[2] % 2])
        s = s + rows[0][0] + rows[1][-1]
    return c, [len(r) for r in rows], s


def taken(x, k):
    out = [x[0], 2.0]
    for i in range(5):
        if x[i] > 0.5:
            out.append(x[i])
    s = 0.0
    for i in range(6):
        if x[i] > 0.3:
            out.append(1.0)
        else:
            s += out.pop()
        if x[i] > 0.6:
            s += out.pop(0)
    return s, len(out), sum(out)


def in_a_branch(x, k):
    out = grown(x)
    if x[1] > 0.1:
        for i in range(4):
            if x[i] > 0.3:
                out.append(1.0)
            x[0] += len(out)
    return x[0], len(out), sum(out)


def in_nested_loops(x, k):
    out = grown(x)
    for i in range(3):
        for j in range(3):
            if x[i] > x[j]:
                out.append(float(len(out)))
        x[5] += out[0] + out[1] + max(out)
    return x[5], len(out), sum(out)


def until_long_enough(x, k):
    out = grown(x)
    n = 0
    for _ in range(20):
        if len(out) >= 8:
            break
        out.append(out[-1] + 1.0)
        n += 1
    return n, len(out), sum(out)


def until_empty(x, k):
    st = [3.0]
    for i in range(5):
        if x[i] > 0.5:
            st.append(x[i])
    t = 0.0
    while len(st) > 0 and t < 5:
        t += st.pop()
    return t, len(st)


def inserted_and_searched(x, k):
    out = grown(x)
    c = 0
    if x[2] > 0.1:
        out.append(2.0)
        c = len(out)
    for i in range(5):
        if x[i] > 0.3:
            out.insert(0, x[i])
        if x[i] in out:
            c += 1
        for v in out:
            c = c + (1 if v > 0.5 else 0)
    return c, len(out), sorted(out)[0]


# ---- what a list's own length decides, in loops whose iterations are known
# ----------------------------------------------

def filled_once(x, k):
    out, n = [x[0]], 0
    for _ in range(7):
        if len(out) < 6:
            n += 1
            for j in range(20):
                out.append(x[j % 6])
    return len(out), sum(out), out[-1], n


def filled_from_nothing(x, k):
    out = []
    for i in range(40):
        if len(out) < i % 7:
            out.append(x[2])
            out.append(0.5)
    return len(out), sum(out), out[-1]


def filled_with_tuples(x, k):
    out = [(x[0], 1)]
    for i in range(30):
        if len(out) % 3 != i % 2:
            out.append((x[i % 6], i))
        if len(out) > 9:
            out += [(0.5, len(out))]
    return len(out), sum([a for a, _ in out]), out[-1]


@pytest.mark.parametrize("program", [
    filled_once, filled_from_nothing, filled_with_tuples, length, length_after_a_branch, elements_at_places, taken,
    in_a_branch, in_nested_loops, until_long_enough, until_empty, inserted_and_searched])
def test_as_python(program):
    agree(program, ARGUMENTS)
