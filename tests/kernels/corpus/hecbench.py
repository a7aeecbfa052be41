"""Kernels after the descriptions of HeCBench and the CUDA samples, as programs of any size."""
import numpy as np

from tests.kernels.corpus.sized import program, up

# ---- HeCBench --------------------------------------------------------------------------------------------------------

@program(lambda r, n: (r.random(n), r.random(n), r.random(n), r.standard_normal(n)), 150, 500_000)
def adam(k, n, p, m, v, g):
    for mode in (0, 1):
        k.adam_k[max(1, up(n, 64) // 3), 64](p, m, v, g, 0.9, 0.999, n, mode)


@program(lambda r, n: (r.random((n, n + 3)), r.random((n, n + 3)), r.random((n, n + 3))), 17, 400)
def iso2dfd(k, n, a, b, vel):
    for _ in range(2):
        k.iso[(up(n + 3, 32), up(n, 8)), (32, 8)](a, b, vel, n, n + 3)
        k.iso[(up(n + 3, 32), up(n, 8)), (32, 8)](b, a, vel, n, n + 3)


@program(lambda r, n: (r.integers(0, 60, n).astype(np.uint32), r.integers(0, 2**32, n).astype(np.uint32),
                   r.integers(0, 2**32, (n, 15)).astype(np.uint32), np.zeros(n, np.uint32)), 100, 60_000)
def jenkins_hash(k, n, lengths, start, keys, out):
    k.jenkins[up(n, 128), 128](lengths, start, keys, out, n)


@program(lambda r, n: (r.integers(0, 256, 12 * n).astype(np.uint8), np.sort(r.integers(0, 12 * n,
                   n + 1)).astype(np.int32),
                   np.zeros(n, np.uint32)), 60, 40_000)
def murmurhash(k, n, data, offsets, out):
    k.murmur[up(n, 64), 64](data, offsets, out, n)


@program(lambda r, n: (r.integers(0, 2**32, (3, 32)).astype(np.uint32), np.zeros((3, n), np.float32)), 300, 200_000,
                   1e-6)
def sobol(k, n, directions, out):
    k.sobol_k[(4, 3), 32](n, 3, directions, out)


@program(lambda r, n: (np.concatenate([(p := r.random((n, 2)) * 40), p + 5 + 20 * r.random((n, 2)), r.random((n,
                   1))], 1),
                   np.zeros((n, up(n, 64)), np.uint64)), 100, 1500)
def nms(k, n, boxes, mask):
    k.nms_k[(up(n, 64), up(n, 64)), 64](n, 0.4, boxes, mask)


@program(lambda r, n: (r.integers(0, 256, (n, n + 5)).astype(np.uint8), np.zeros((n, n + 5), np.uint8)), 20, 400)
def morphology(k, n, src, dst):
    k.dilate[(up(n + 5, 16), up(n, 16)), (16, 16)](src, dst, n + 5, n)


@program(lambda r, n: (np.zeros((n, 150)), 5 * r.standard_normal((n, 150))), 4, 2000)
def softmax(k, n, out, x):
    k.softmax_k[n, 64](out, x, n, 150)


@program(lambda r, n: (r.integers(0, 2**32, (n, 64)).astype(np.uint32), np.arange(64 * n, dtype=np.uint32).reshape(n,
                   64)), 3,
         1500)
def sorting_network(k, n, keys, values):
    k.bitonic[n, 32](keys, values, 64, 1)


@program(lambda r, n: (r.random(up(n, 7)), r.random(7), r.random(n), r.random(n) * 0.01, 2 + r.random(7),
                   np.zeros(n)), 100,
         80_000)
def neurons(k, n, encode, bias, voltage, reftime, gain, spikes):
    for _ in range(4):
        k.lif_k[up(n, 64), 64](n, 0.01, encode, bias, voltage, reftime, 0.02, 0.002, gain, spikes)


@program(lambda r, n: (np.sort(r.random(65)), r.random((65, 4, 3)), r.integers(0, 5, 6).astype(np.int32),
                   np.zeros(n)), 100,
         50_000)
def cross_sections(k, n, egrid, xs, mats, verify):
    k.lookup[up(n, 128), 128](egrid, xs, mats, verify, n, 65, 6)


@program(lambda r, n: (np.arange(256, dtype=np.uint64), np.zeros(n)), 200, 100_000)
def random_access(k, n, table, unused):
    k.gups[4, 32](table, 256, n)


@program(lambda r, n: (r.random((n, n + 2)).astype(np.float32), np.zeros((3 * n // 2, 2 * n), np.float32)), 9, 150,
                   1e-5)
def bicubic(k, n, src, dst):
    k.zoom[(up(2 * n, 16), up(3 * n // 2, 8)), (16, 8)](src, dst, n + 2, n, 2 * n, 3 * n // 2)


def _graph(r, n):
    starts = np.concatenate([[0], np.cumsum(r.integers(0, 6, n))]).astype(np.int32)
    return (starts, r.integers(0, n, max(starts[-1], 1)).astype(np.int32), np.full(n, 1.0 / n), np.zeros(n),
            np.zeros(1))


@program(_graph, 90, 60_000)
def pagerank(k, n, rows, cols, rank, following, change):
    for _ in range(3):
        k.push[up(n, 64), 64](rows, cols, rank, following, n)
        k.damp[up(n, 64), 64](rank, following, change, n)


@program(lambda r, n: (r.random((n, 4, 3, 3, 2)), r.random((4, 3, 3, 2)), np.zeros((n, 4, 3, 3, 2))), 5, 8000)
def lattice(k, n, a, b, c):
    k.su3[up(36 * n, 128), 128](a, b, c, n)


@program(lambda r, n: ((lambda order: (lambda nxt: (nxt, (nxt >= 0).astype(np.int32), np.zeros(n, np.int32),
                                                np.zeros(n, np.int32)))(
    np.array([int(order[int(np.where(order == i)[0][0]) + 1]) if i != order[-1] else -1 for i in range(n)], np.int32)
    if n < 500 else np.concatenate([np.arange(1, n), [-1]]).astype(np.int32)))(r.permutation(n))), 60, 200_000)
def list_ranking(k, n, nxt, rank, nxt2, rank2):
    for _ in range(4):
        k.rank_step[up(n, 64), 64](nxt, rank, nxt2, rank2, n)
        k.rank_step[up(n, 64), 64](nxt2, rank2, nxt, rank, n)


@program(lambda r, n: (np.arange(0, 6 * n + 1, 6).astype(np.int32),
                   np.sort(r.integers(0, 30, (n, 6)), 1).astype(np.int32).ravel(), r.integers(0, n,
                   2 * n).astype(np.int32),
                   r.integers(0, n, 2 * n).astype(np.int32), np.zeros(2 * n)), 40, 20_000)
def jaccard(k, n, rows, cols, a, b, weight):
    k.intersect[up(2 * n, 64), 64](rows, cols, a, b, weight, 2 * n)


@program(lambda r, n: (r.integers(0, 64, n).astype(np.uint32), r.integers(0, 64, n).astype(np.uint32),
                   r.integers(0, 64, n).astype(np.uint32), np.zeros(n, np.int32)), 40, 4000)
def nqueens(k, n, left, down, right, solutions):
    k.queens[up(n, 32), 32](6, 4, left, down, right, solutions, n)


@program(lambda r, n: (r.standard_normal(n), r.integers(0, 8, n).astype(np.int32), np.full(8, -100.0), np.zeros(8,
                   np.uint32)),
         300, 200_000)
def labelled_extremes(k, n, x, label, most, count):
    k.extremes[3, 64](x, label, most, count, n)


@program(lambda r, n: (r.standard_normal((n, 8)), r.standard_normal((n, 8)), r.standard_normal((n, 8)), np.zeros((n,
                   8))), 12,
         300)
def attention(k, n, q, keys, values, out):
    k.attend[n, 16, 0, 8 * (n + 8)](q, keys, values, out, n, 8)


@program(lambda r, n: (r.random((3, n, n + 1)), np.zeros((3, 2 * n, 2 * n + 2))), 6, 100)
def pooling(k, n, dy, dx):
    k.pool_gradient[(up(2 * n + 2, 16), up(2 * n, 4), 3), (16, 4)](dy, dx, 2 * n, 2 * n + 2, n, n + 1, 3, 2, 1)


# ---- Parboil, and more of HeCBench -----------------------------------------------------------------------------------

@program(lambda r, n: (r.integers(0, 256, (4 * n, 4 * n)).astype(np.uint8), r.integers(0, 256, (4 * n,
                   4 * n)).astype(np.uint8), np.zeros((n, n, 9 * 9), np.uint16)), 3, 60)
def sad(k, n, frame, reference, found):
    k.sad[(n, n), 32](frame, reference, found, 4 * n, 4)


@program(lambda r, n: (r.random(n).astype(np.float32), np.sort(r.random(255)).astype(np.float32), np.zeros(n, np.int32),
                   np.zeros(256, np.uint32)), 300, 300_000)
def bucketcount(k, n, x, pivots, place, counts):
    k.bucketcount[max(1, up(n, 128) // 4), 128](x, pivots, place, counts, n)


@program(lambda r, n: (r.random((n, n + 3)).astype(np.float32), np.zeros((n, n + 3), np.float32),
                   np.exp(-np.arange(-2, 3) ** 2 / 4).astype(np.float32)), 15, 500, 1e-5)
def bilateral(k, n, src, dst, weights):
    k.bilateral[(up(n + 3, 16), up(n, 16)), (16, 16)](src, dst, weights, n + 3, n, 2)


@program(lambda r, n: (r.integers(-9, 9, 256 * 4 ** n).astype(np.float32),), 1, 6)
def walsh(k, n, data):
    for level in reversed(range(n)):
        k.far_apart[4 ** n, 64](data, 256 * 4 ** level)
    k.in_blocks[4 ** n, 64](data)
