"""Arrays of structs: alone and in compiled functions, by both paths, with gradients."""
import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang", reason="needs ziglang")

SOURCE = r"""
struct Particle { float x, y, z; int id; };
extern "C" __global__ void drift(Particle *p, const float *v, float dt, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle q = p[i];
    q.x += dt * v[3 * i]; q.y += dt * v[3 * i + 1]; q.z += dt * v[3 * i + 2];
    q.id += 1;
    p[i] = q;
}
extern "C" __global__ void pick(const Particle *p, const int *at, float *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { const Particle &q = p[at[i]]; o[i] = q.x * q.y + (q.id & 1 ? q.z : 2.f * q.z); }
}
struct Cell { double mass; short kind; char tag[3]; struct { float u[2]; } flow; };
extern "C" __global__ void flow(Cell *c, double *total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    c[i].flow.u[1] = c[i].flow.u[0] + (float)c[i].mass;
    c[i].kind = c[i].tag[0] - c[i].tag[2];
    atomicAdd(total, c[i].flow.u[0]);
}
extern "C" __global__ void hit(Particle *p, Cell *c, int n) {
    int i = threadIdx.x;
    atomicAdd(&p[i / 2].id, 1);
    if (c && i < n) atomicAdd(&c[i / 3].mass, 0.5);
}
struct Scale { float by; int times; };
extern "C" __global__ void scaled(float *x, Scale s) { for (int k = 0; k < s.times; k++) x[threadIdx.x] *= s.by; }
"""
PARTICLE = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("id", "i4")])
CELL = np.dtype([("mass", "f8"), ("kind", "i2"), ("tag", "i1", (3,)), ("flow", [("u", "f4", (2,))])], align=True)
rng = np.random.default_rng(0)
COUNT = 50


@pytest.fixture(scope="module", params=["tensor", "native"])
def module(request):
    return reactant.cuda.load(SOURCE, lower=request.param)


def particles():
    p = np.zeros(COUNT, PARTICLE)
    for axis in "xyz":
        p[axis] = rng.random(COUNT)
    p["id"] = np.arange(COUNT)
    return p


@pytest.mark.parametrize("inside", [False, True])
def test_particles(module, inside):
    def run(p, v, at, o):
        module.drift[2, 32](p, v, 0.5, len(p))
        module.pick[1, 32](p, at, o, len(at))
    p, v, at, o = particles(), rng.random((COUNT, 3)).astype("f4"), rng.integers(0, COUNT, 20).astype("i4"), np.zeros(
        20, "f4")
    expected = p.copy()
    for axis, name in enumerate("xyz"):
        expected[name] += np.float32(0.5) * v[:, axis]
    expected["id"] += 1
    (reactant.jit(run) if inside else run)(p, v, at, o)
    for name in PARTICLE.names:
        np.testing.assert_allclose(p[name], expected[name], rtol=1e-6)
    q = expected[at]
    np.testing.assert_allclose(o, q["x"] * q["y"] + np.where(q["id"] & 1, q["z"], 2 * q["z"]), rtol=1e-6)


@pytest.mark.parametrize("inside", [False, True])
def test_members_of_many_sizes_views_and_atomics(module, inside):
    def run(cells, total):
        module.flow[1, 32](cells[3:], total, len(cells) - 3)
    cells, total = np.zeros(20, CELL), np.zeros(1)
    cells["mass"], cells["flow"]["u"] = rng.random(20), rng.random((20, 2))
    cells["tag"] = rng.integers(0, 3, (20, 3))
    expected, part = cells.copy(), cells[3:].copy()
    new = part["flow"]["u"].copy()
    new[:, 1] = new[:, 0] + part["mass"].astype("f4")
    expected["flow"]["u"][3:] = new
    expected["kind"][3:] = part["tag"][:, 0] - part["tag"][:, 2]
    (reactant.jit(run) if inside else run)(cells, total)
    for name in ("mass", "kind", "tag"):
        np.testing.assert_allclose(cells[name], expected[name])
    np.testing.assert_array_equal(cells["flow"], expected["flow"])
    np.testing.assert_allclose(total[0], part["flow"]["u"][:, 0].sum(dtype=float), rtol=1e-6)


@pytest.mark.parametrize("inside", [False, True])
def test_atomics(module, inside):
    def run(p, c):
        module.hit[1, 32](p, c, 20)
    p, cells = particles(), np.zeros(20, CELL)
    if module._lower == "native":       # the members of a cell are read in pieces of a byte
        cells = 0
    (reactant.jit(run) if inside else run)(p, cells)
    np.testing.assert_array_equal(p["id"][:16], np.arange(16) + 2)
    if module._lower == "tensor" and inside:
        np.testing.assert_array_equal(cells["mass"][:8], [1.5] * 6 + [1.0, 0.0])


def test_structs_by_value_in_compiled_functions(module):
    @reactant.jit
    def run(x, s, table):
        module.scaled[1, 8](x, s)
        module.scaled[1, 8](x, table[1])
        return x.sum()
    kind = np.dtype([("by", "f4"), ("times", "i4")])
    table = np.array([(1, 1), (2, 1)], kind)
    x = np.ones(8, "f4")
    if module._lower == "native":
        assert run(x, np.array((3, 2), kind)[()], table) == 8 * 18


def test_gradients_of_fields():
    module = reactant.cuda.load(SOURCE)
    p, v, at = particles(), rng.random((COUNT, 3)).astype("f4"), rng.integers(0, COUNT, 20).astype("i4")

    def loss(x, p, v, at):
        p["x"] = x
        o = np.zeros(20, np.float32)
        module.drift[2, 32](p, v, 0.5, COUNT)
        module.pick[1, 32](p, at, o, 20)
        return o.sum()
    found = reactant.grad(reactant.jit(loss))(p["x"].copy(), p.copy(), v, at)
    expected = np.zeros(COUNT)
    np.add.at(expected, at, p["y"][at] + 0.5 * v[at, 1])
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_structured_arrays_without_kernels():
    @reactant.jit
    def run(p, q):
        p["x"] += 1
        p[2]["id"] = 7
        p[3:5] = q[:2]
        p[5] = (1, 2, 3, 4)
        p[p["id"] > 40] = q[0]
        n = 0
        for one in p[:3]:
            n = n + one["id"]
        return p, q[::2], q.copy(), n
    p, q = particles(), particles()
    expected, other = p.copy(), q.copy()
    result, part, copy, n = run(p, q)
    assert result is p
    expected["x"] += 1
    expected[2]["id"] = 7
    expected[3:5] = other[:2]
    expected[5] = (1, 2, 3, 4)
    expected[expected["id"] > 40] = other[0]
    np.testing.assert_array_equal(p, expected)
    np.testing.assert_array_equal(part, other[::2])
    np.testing.assert_array_equal(copy, other)
    assert n == expected["id"][:3].sum()


def test_what_structured_arrays_cannot_do():
    p = particles()
    with pytest.raises(reactant.UnsupportedError, match="(?s)np.add of a structured array.*Use its fields"):
        reactant.jit(lambda p: np.add(p, p))(p)
    with pytest.raises(reactant.UnsupportedError, match="'view' of a structured array"):
        reactant.jit(lambda p: p.view("f4"))(p)
    with pytest.raises(reactant.UnsupportedError, match="Several fields"):
        reactant.jit(lambda p: p[["x", "y"]])(p)
    module = reactant.cuda.load(SOURCE)

    @reactant.jit
    def overlapping(p, v):
        module.pick[1, 32](p, v, p["x"], 3)
    with pytest.raises((reactant.UnsupportedError, TypeError), match="same array|not contiguous"):
        overlapping(p, np.zeros(20, "i4"))


BODY = np.dtype([("pos", "f4", (3,)), ("vel", "f4", (3,)), ("iteration", "f4", (2, 2)), ("mass", "f8"), ("alive", "?")],
                align=True)
BODIES = r"""
struct Body { float pos[3], vel[3], iteration[2][2]; double mass; bool alive; };
extern "C" __global__ void move(Body *b, float dt, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && b[i].alive) for (int d = 0; d < 3; d++) b[i].pos[d] += dt * b[i].vel[d];
}
extern "C" __global__ void turned(Body *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v[2] = {0, 0};
    for (int r = 0; r < 2; r++) for (int c = 0; c < 2; c++) v[r] += b[i].iteration[r][c] * b[i].vel[c];
    for (int d = 2; d > 0; d--) b[i].vel[d - 1] = v[d - 1];
    b[i].alive = v[0] > 0;
}
extern "C" __global__ void a_thread_each(Body *b, float by) { b[blockIdx.x].pos[threadIdx.x] *= by; }
extern "C" __global__ void all_at_once(Body *b, int m) { float *x = b[0].pos; for (int k = 0; k < m; k++) x[k] += 1; }
"""


def _bodies():
    r, b = np.random.default_rng(3), np.zeros(21, BODY)
    for name in ("pos", "vel", "iteration"):
        b[name] = r.standard_normal(b[name].shape)
    b["alive"] = np.arange(21) % 3 > 0
    return b


def _moved(launch, b):
    launch("move", (2, 16), 0.5, 21)
    b["pos"] += 0.5 * b["vel"] * b["alive"][:, None]


def _turned(launch, b):
    launch("turned", (2, 16), 21)
    b["vel"][:, :2] = np.einsum("nrc,nc->nr", b["iteration"], b["vel"][:, :2])
    b["alive"] = b["vel"][:, 0] > 0


def _scaled(launch, b):
    launch("a_thread_each", (21, 3), 2.0)
    b["pos"] *= 2


def _beyond(launch, b):
    launch("all_at_once", (1, 1), 10)                  # over the end of a member: rows of bits
    for name in ("pos", "vel", "iteration"):
        b[name][0] += 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", ["tensor", "native"])
@pytest.mark.parametrize("of,most", [(_moved, 15), (_turned, 25), (_scaled, 5), (_beyond, None)])
def test_members_that_are_arrays_are_indexed_by_counters(of, most, way):
    kernels = reactant.cuda.load(BODIES, lower=way)
    got, wanted = _bodies(), _bodies()
    names = []

    def launch(name, sizes, *more):
        names.append((name, sizes, more))
    of(launch, wanted)
    (name, sizes, more), = names

    def program(b):
        kernels[name][sizes](b, *more)
        return b
    program = reactant.jit(program)
    if way == "tensor" and most:
        assert sum(program.lower(got).operations().values()) <= most
    program(got)
    for field in BODY.names:
        np.testing.assert_allclose(got[field], wanted[field], rtol=1e-6)


def test_a_member_that_is_an_array_beside_a_truth_has_a_gradient():
    kernels, bodies = reactant.cuda.load(BODIES), _bodies()

    def loss(v, b):
        b["vel"][:] = v
        kernels.move[2, 16](b, 0.5, 21)
        return np.sum(b["pos"] ** 2)
    found = reactant.grad(loss)(bodies["vel"].copy(), bodies.copy())
    expected = (bodies["pos"] + 0.5 * bodies["vel"]) * bodies["alive"][:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_one_struct_as_a_variable(way):
    module = reactant.cuda.load("""
    struct Params { float dt; int n; float k[2]; };
    __constant__ Params P = {0.5f, 3, {1, 2}};
    extern "C" __global__ void k(float *x) { x[threadIdx.x] += P.dt * P.n + P.k[threadIdx.x % 2]; }""", lower=way)

    @reactant.jit
    def program(x):
        module.k[1, 4](x)
        module.k[1, 4](x, P=other)
    other = module.variables["P"].copy()
    other["n"] = 5
    x = np.zeros(4, np.float32)
    program(x)
    module.k[1, 4](x, P=other.reshape(1)[0])
    np.testing.assert_array_equal(x, [1.5 + 2 * 2.5 + 3, 1.5 + 2 * 2.5 + 6] * 2)
