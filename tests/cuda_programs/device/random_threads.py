"""Random kernels whose threads do not meet, as one program: branches, loops of run-time trip counts, early ends, values
of several types, reads and writes at consecutive, repeated, shifted and unrelated places. Their references are the same
functions, compiled for the host and run thread by thread."""
import random

INTEGERS, FLOATS = ("a", "b", "c"), ("f", "h")


class Threads:
    """The body of a kernel."""

    def __init__(self, rng):
        self.rng, self.depth = rng, 0
        self.text = "\n".join(self.statement(3) for _ in range(rng.randint(3, 7)))

    def place(self):
        """A place in an array of 256."""
        rng = self.rng
        return rng.choice(["g", "g", "g + 1", "g - 1", "t", "bx", "n", "g * 2", "(g * 5 + a)", "g % 7", "g % n", "a",
                           "T - 1 - t", "g / 3", "ty", str(rng.randint(0, 200))])

    def integer(self, depth=2):
        rng = self.rng
        if depth == 0 or rng.random() < .2:
            read = rng.choice(["x[{}]", "xb[{}]", "xs[{}]", "y[g]"])
            return rng.choice([*INTEGERS, "t", "g", "n", "ty", str(rng.randint(0, 9)),
                               read.format(f"({self.place()}) & 255"), f"(int){rng.choice(FLOATS)}" if depth else "1"])
        how = rng.random()
        one, other = self.integer(depth - 1), self.integer(depth - 1)
        if how < .5:
            return f"({one} {rng.choice('+-*^&|')} {other})"
        if how < .6:
            return f"({one} {rng.choice('/%')} (({other} & 7) + 1))"
        if how < .7:
            return f"(int)((unsigned){one} {rng.choice(['>>', '<<'])} ({other} & 7))"
        if how < .8:
            return f"({self.condition()} ? {one} : {other})"
        return rng.choice([f"min({one}, {other})", f"max({one}, {other})", f"abs({one} & 1023)", f"(short)({one})",
                           f"(unsigned char)({one})", f"(int)((long long){one} * {other} >> 3)"])

    def real(self, depth=2):
        rng = self.rng
        if depth == 0 or rng.random() < .25:
            return rng.choice([*FLOATS, "0.5f", "3", f"xf[({self.place()}) & 255]", f"({self.integer(1)} & 15)",
                               "yf[g]", f"x4[{rng.choice([2, 3, 4, 4])} * {rng.choice('gt')} + {rng.randint(0, 4)}]"])
        how = rng.random()
        if how < .6:
            return f"({self.real(depth - 1)} {rng.choice('+-*')} {self.real(depth - 1)})"
        if how < .75:
            return f"({self.real(depth - 1)} / (fabsf({self.real(depth - 1)}) + 1))"
        if how < .85:
            return f"({self.condition()} ? {self.real(depth - 1)} : {self.real(depth - 1)})"
        return f"fabsf({self.real(depth - 1)})" if how < .93 else f"sqrtf(fabsf({self.real(depth - 1)}))"

    def condition(self):
        rng = self.rng
        return rng.choice([f"t < {rng.choice([1, 5, 16, 17, 32, 40])}", "g < n", f"({self.integer(1)} & 3) > 1",
                           "t == 0", "(t & 1)", "g >= n - 20", f"x[(g) & 255] > {rng.randint(2, 9)}", "(n & 1)",
                           "bx > 0", "g == n", "t > 3 && g < n", "f > h", f"{self.real(1)} < 4", "xb[g & 255] != 0",
                           "ty == 0 || t == T - 1"])

    def statement(self, depth):
        rng, chance = self.rng, self.rng.random()
        if depth and chance < .25:
            other = f" else {{ {self.block(depth)} }}" if rng.random() < .5 else ""
            return f"if ({self.condition()}) {{ {self.block(depth)} }}{other}"
        if depth and chance < .4:
            self.depth += 1
            q = f"q{self.depth}"
            times = rng.choice([f"({self.integer(1)} & 3)", "3", "(n & 7)", "(t & 3)", "(bx + 2)"])
            leave = rng.choice(["", "", f"if ({self.condition()}) break; ", f"if ({self.condition()}) continue; "])
            inside = f"{leave}{self.block(depth)} {rng.choice(INTEGERS)} += {q};"
            return f"for (int {q} = 0; {q} < {times}; ++{q}) {{ {inside} }}"
        if chance < .46:
            return f"if ({self.condition()}) {{ y[g] += a; return; }}"
        if chance < .6:
            return f"y[g] {rng.choice(['=', '+=', '^='])} {self.integer(1)};"
        if chance < .68:
            return f"yf[g] {rng.choice(['=', '+='])} {self.real(1)};"
        if chance < .73:
            return f"yb[g] = {self.integer(1)};"
        if chance < .77:
            return f"ADD(&count[({self.place()}) & 15], {self.integer(1)});"
        if chance < .82:
            return f"pairs[g].{rng.choice(['one', 'two'])} = {self.integer(1)};"
        if chance < .84:
            fields = rng.sample(range(3), rng.choice([2, 3, 3]))
            return " ".join(f"triples[g].part[{k}] = {self.integer(1)};" for k in fields)
        if chance < .86:
            changed = f"kept[{self.integer(1)} & 3] += 1;"
            return f"{{ int kept[4] = {{a, b, c, t}}; {changed} {rng.choice(INTEGERS)} = kept[b & 3]; }}"
        if chance < .93:
            return f"{rng.choice(FLOATS)} = {self.real()};"
        return f"{rng.choice(INTEGERS)} = {self.integer()};"

    def block(self, depth):
        return " ".join(self.statement(depth - 1) for _ in range(self.rng.randint(1, 2)))


HEAD = """#include <cmath>
#include <cstdio>
#include <cstring>
struct Pair { int one; double between; short two; };
struct Triple { int part[3]; };
#ifdef __CUDA_ARCH__
#define ADD(PLACE, VALUE) atomicAdd(PLACE, VALUE)
#else
#define ADD(PLACE, VALUE) *(PLACE) += (VALUE)
#endif
#define TAKEN const int *x, const float *xf, const float *x4, const unsigned char *xb, const short *xs, int *y, \\
              float *yf, unsigned char *yb, Pair *pairs, Triple *triples, int *count, int n
#define GIVEN x, xf, x4, xb, xs, y, yf, yb, pairs, triples, count, n
"""
KERNEL = """
__host__ __device__ inline void NAME_body(int g, int t, int ty, int bx, int T, TAKEN) {
    int a = t, b = g, c = 1;
    float f = xf[g & 255];
    double h = 0.25 * t;
BODY
    y[g] += a + b * 3 + c * 7;
    yf[g] += f + float(h);
}
__global__ void NAME(TAKEN) {
    const int T = blockDim.x * blockDim.y, t = threadIdx.y * blockDim.x + threadIdx.x;
    NAME_body(blockIdx.x * T + t, t, threadIdx.y, blockIdx.x, T, GIVEN);
}
"""
ROW = """    const int T = blockDim.x * blockDim.y;
    const int g = (blockIdx.x * blockDim.x + threadIdx.x) * blockDim.y + threadIdx.y;
    NAME_body(g, g % T, g % T / blockDim.x, g / T, T, GIVEN);
}
"""
"""The end of kernels whose blocks can be taken for one: they read numbers of threads in rows of the grid only."""
MAIN = """
typedef void Kernel(TAKEN);
typedef void Body(int, int, int, int, int, TAKEN);
struct Memory { int y[1024]; float yf[1024]; unsigned char yb[1024]; Pair pairs[1024]; Triple triples[1024];
                int count[16]; };
int main() {
    struct { const char *name; Kernel *kernel; Body *body; } all[] = {ROWS};
    const dim3 blocks[] = {dim3(64), dim3(32), dim3(128), dim3(16, 4), dim3(50), dim3(8, 5), dim3(7), dim3(33, 3)};
    int bad = 0, ran = 0, *x;
    float *xf, *x4;
    unsigned char *xb;
    short *xs;
    Memory *ours, *theirs;
    cudaMallocManaged(&x, 1024); cudaMallocManaged(&xf, 1024); cudaMallocManaged(&xb, 256); cudaMallocManaged(&xs, 512);
    cudaMallocManaged(&x4, 2700 * sizeof(float));
    for (int i = 0; i < 2700; ++i) x4[i] = i % 37 * 0.5f;
    cudaMallocManaged(&ours, sizeof(Memory)); cudaMallocManaged(&theirs, sizeof(Memory));
    for (int i = 0; i < 256; ++i)
        x[i] = (i * 29 + 7) % 11, xf[i] = x[i] * 0.37f - 1, xb[i] = i * 7 % 3, xs[i] = i * 31 % 17 - 8;
    for (auto &k : all) for (dim3 d : blocks) for (int n : {1, 77, 150}) {
        const int T = d.x * d.y, G = 5;
        memset((void *)ours, 5, sizeof(Memory));
        for (int i = 0; i < 1024; ++i) ours->yf[i] = 0.5f * i;
        memcpy((void *)theirs, (void *)ours, sizeof(Memory));
        k.kernel<<<G, d>>>(x, xf, x4, xb, xs, ours->y, ours->yf, ours->yb, ours->pairs, ours->triples, ours->count, n);
        if (cudaDeviceSynchronize() != cudaSuccess) { printf("%s fails\\n", k.name); return 1; }
        for (int g = 0; g < G * T; ++g)
            k.body(g, g % T, g % T / int(d.x), g / T, T, x, xf, x4, xb, xs, theirs->y, theirs->yf, theirs->yb,
                   theirs->pairs, theirs->triples, theirs->count, n);
        ++ran;
        for (int i = 0; i < 1024; ++i)
            if (ours->yf[i] != ours->yf[i] && theirs->yf[i] != theirs->yf[i]) ours->yf[i] = theirs->yf[i];
        if (memcmp((void *)ours, (void *)theirs, sizeof(Memory))) {
            ++bad;
            for (int i = 0; i < T * G; ++i)
                if (ours->y[i] != theirs->y[i] || ours->yf[i] != theirs->yf[i] || ours->yb[i] != theirs->yb[i]) {
                    printf("%s %ux%u n %d [%d]: %d %g %d, not %d %g %d\\n", k.name, d.x, d.y, n, i, ours->y[i],
                           double(ours->yf[i]), ours->yb[i], theirs->y[i], double(theirs->yf[i]), theirs->yb[i]);
                    break;
                }
        }
    }
    printf("%d of %d differ\\n", bad, ran);
    return bad != 0 || ran == 0;
}
"""


def program(seed, count, rows=False):
    """The source of a program of so many random kernels that compares each with its reference."""
    rng = random.Random(seed)
    names = [f"k{number}" for number in range(count)]
    kernel = KERNEL[:KERNEL.index("    const int T")] + ROW if rows else KERNEL
    made = [HEAD, *(kernel.replace("BODY", Threads(rng).text).replace("NAME", name) for name in names)]
    return "".join([*made, MAIN.replace("ROWS", ", ".join(f'{{"{n}", {n}, {n}_body}}' for n in names))])
