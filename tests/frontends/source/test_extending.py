"""`out.extend(items)` where it is only known at run time how many items there are, and where it is known."""
import numpy as np
import pytest

from tests.frontends.agreement import agree

X = np.array([0.9, 0.2, 0.7, 0.4, 0.65, 0.3, 0.8, 0.1])


def sorted_by_buckets(x):
    buckets = [[] for _ in range(5)]
    for value in x:
        buckets[int(value * 5)].append(value)
    out = []
    for bucket in buckets:
        out.extend(sorted(bucket))
    done = np.zeros(len(x))
    for k in range(len(out)):
        done[k] = out[k]
    return done, len(out)


def without_a_loop(x):
    out, more = [1.0], []
    for value in x:
        if value > 0.3:
            more.append(value)
    out.extend(more)
    out.extend([v * 2 for v in x if v > 0.5])
    out.extend([v for v in x if v < 0.25])
    return len(out), sum(out), out[0]


def in_a_loop(x):
    out, known = [], []
    for i in range(6):
        part = [v for v in x if v > 0.1 * i]
        out.extend(part)
        known.extend([i, i + 1])
        if x[i] > 0.5:
            out.extend(sorted(part))
    return len(out), sum(out), known


def known(x):
    out = []
    for i in range(3):
        out.extend([i] * i)
        out.extend(range(i))
        out.extend(map(abs, (-i, i)))
    out.extend(v for v in (1, 2, 3) if v > 1)
    return out, x[0]


class Log:
    def __init__(self):
        self.lengths = []

    def extend(self, items):
        self.lengths.append(len(items))
        return 7


def of_another_class(x):
    log = Log()
    log.extend([v for v in x if v > 0.5])
    log.extend(list(x))
    return log.lengths


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function", [sorted_by_buckets, without_a_loop, in_a_loop, known, of_another_class])
def test_programs(function):
    agree(function, [(X,), (X[::-1].copy(),)])
