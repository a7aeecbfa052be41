"""Random kernels of integers of all widths and of floats, as one program: what only some threads may do (divide, shift,
convert, read what is there for them alone) behind nested branches, minima of NaN, numbers that wrap around. Their
references are the same functions, compiled for the host and run thread by thread."""
import random

WIDTHS = {"signed char": 8, "unsigned char": 8, "short": 16, "unsigned short": 16, "int": 32, "unsigned": 32,
          "long long": 64, "unsigned long long": 64, "__int128": 128, "unsigned __int128": 128, "bool": 1}
VARIABLES = dict(zip("abcdefghklm", WIDTHS, strict=True))
"""Of each kernel, with their types."""
REALS = {"r": "float", "s": "double"}


class Body:
    """Statements over variables of each type."""

    def __init__(self, rng):
        self.rng, self.loops = rng, 0
        self.text = "\n".join(self.statement(3) for _ in range(rng.randint(4, 8)))

    def integer(self, depth=2):
        """An expression of any integer type, that is defined for all operands."""
        rng = self.rng
        if depth == 0 or rng.random() < .15:
            return rng.choice([*VARIABLES, "t", "i", "n", str(rng.choice([0, 1, 2, 7, 31, 127, 128, 255, 65535])),
                               "x[i & 255]", "xb[i & 255]", "xs[(i + 3) & 255]", "xl[i & 255]", "xb[2 * t & 255]"])
        one, other, how = self.integer(depth - 1), self.integer(depth - 1), rng.random()
        if how < .45:
            kind = rng.choice(list(WIDTHS)[:-1])
            return f"({kind})(({kind}){one} {rng.choice('+-*&|^')} ({kind}){other})"
        if how < .6:
            kind = rng.choice([k for k, width in WIDTHS.items() if width >= 32])
            return f"({kind})(({kind}){one} {rng.choice(['<<', '>>'])} (int)({other} & {WIDTHS[kind] - 1}))"
        if how < .7:
            return f"({self.condition(depth - 1)} ? (long long){one} : (long long){other})"
        if how < .8:
            return f"({rng.choice(list(WIDTHS))}){one}"
        kind = rng.choice(["int", "unsigned", "long long", "unsigned long long"])
        return f"{rng.choice(['least', 'most'])}(({kind}){one}, ({kind}){other})"

    def real(self, depth=2):
        rng = self.rng
        if depth == 0 or rng.random() < .2:
            return rng.choice([*REALS, "0.5f", "-0.0f", "xf[i & 255]", "xf[(i * 3 + 1) & 255]", "(float)(t & 15)",
                               f"(double)(short){self.integer(1)}"])
        one, other, how = self.real(depth - 1), self.real(depth - 1), rng.random()
        if how < .5:
            return f"({one} {rng.choice('+-*/')} {other})"
        if how < .7:
            kind = rng.choice(["float", "double"])
            call = "" if kind == "double" else "f"
            return f"{rng.choice(['fmin', 'fmax'])}{call}(({kind}){one}, ({kind}){other})"
        if how < .85:
            return f"({self.condition(depth - 1)} ? {one} : {other})"
        return f"{rng.choice(['fabs', 'sqrt', 'floor'])}({one})"

    def condition(self, depth=1):
        rng, depth = self.rng, max(depth, 0)
        if rng.random() < .3:
            return f"({self.real(depth)} {rng.choice(['<', '>=', '==', '!='])} {self.real(depth)})"
        if rng.random() < .3:
            return rng.choice(["(t & 1)", "(i < n)", "(t > 5)", "(t % 3 == 1)", "(m ^ (t < 9))", "(n & 2)",
                               "(m && r > 1)"])
        kind = rng.choice(list(WIDTHS))
        one, how, other = self.integer(depth), rng.choice(["<", ">", "==", "!=", "<="]), self.integer(depth)
        return f"(({kind}){one} {how} ({kind}){other})"

    def guarded(self):
        """What is defined for the threads that do it, only."""
        rng, target = self.rng, self.rng.choice(list(VARIABLES))
        kind = rng.choice([k for k, width in WIDTHS.items() if width > 1])
        one, other = f"({kind}){self.integer(1)}", f"({kind}){self.integer(1)}"
        return rng.choice([
            f"{{ const {kind} q = {other}; if (q > 1) {target} = {one} / q; }}",
            f"{{ const {kind} q = {other}; if (q > 0) {target} = {one} % q; else {target} = q; }}",
            f"{{ const {kind} q = {other}; if (q >= 0 && q < 32) {target} = (unsigned)(x[i & 255]) >> (int)q; }}",
            f"{{ const int q = (int){self.integer(1)}; if (q >= 0 && q < 32) {target} = x[i & 255] & (1 << q); }}",
            f"{{ const int q = (int){self.integer(1)}; if (q >= 0 && q < 256) {target} = edge[q - 256]; }}",
            f"{{ const unsigned q = i; if (q < few) {target} = last[q]; }}",
            f"{{ const unsigned q = i; if (q < few && lastb[q] != 3) {target} ^= last[few - 1 - q]; }}",
            f"{{ const double q = {self.real(1)}; if (q > -30000 && q < 30000) {target} = (short)(int)q; }}",
            f"{{ const float q = {self.real(1)}; if (q >= 0 && q < 200) {target} = (unsigned char)q; }}",
            f"if (x[i & 255] > 4) {{ const int *p = t & 1 ? x : nullptr; if (p) {target} = p[(i + 1) & 255]; }}",
        ])

    def statement(self, depth):
        rng, chance = self.rng, self.rng.random()
        if depth and chance < .3:
            other = f" else {{ {self.block(depth)} }}" if rng.random() < .5 else ""
            return f"if ({self.condition()}) {{ {self.block(depth)} }}{other}"
        if depth and chance < .4:
            self.loops += 1
            q = f"q{self.loops}"
            leave = rng.choice(["", f"if ({self.condition()}) break; ", f"if ({self.condition()}) continue; "])
            return f"for (int {q} = 0; {q} < ({self.integer(1)} & 3); ++{q}) {{ {leave}{self.block(depth)} }}"
        if depth and chance < .45:
            cases = " ".join(f"case {k}: {self.block(depth)} {rng.choice(['break;', ''])}" for k in range(3))
            return f"switch ((int){self.integer(1)} & 3) {{ {cases} default: {self.block(depth)} }}"
        if chance < .65:
            return self.guarded()
        if chance < .8:
            name = rng.choice(list(REALS))
            return f"{name} = ({REALS[name]}){self.real()};"
        if chance < .85:
            return f"out[i].{rng.choice(['a', 'b', 'c', 'd'])} = {self.integer(1)};"
        name = rng.choice(list(VARIABLES))
        return f"{name} = ({VARIABLES[name]}){self.integer()};"

    def block(self, depth):
        return " ".join(self.statement(depth - 1) for _ in range(self.rng.randint(1, 2)))


HEAD = """#include <cmath>
#include <cstdio>
#include <cstring>
struct Out { signed char a; unsigned short b; int c; long long d; double r; float s; unsigned long long sum; };
template <class T> __host__ __device__ T least(T a, T b) { return a < b ? a : b; }
template <class T> __host__ __device__ T most(T a, T b) { return a > b ? a : b; }
#define TAKEN const int *x, const unsigned char *xb, const short *xs, const long long *xl, const float *xf, \\
              const int *edge, const int *last, const unsigned char *lastb, unsigned few, Out *out, int n
#define GIVEN x, xb, xs, xl, xf, edge, last, lastb, few, out, n
"""
KERNEL = """
__host__ __device__ inline void NAME_body(int i, int t, TAKEN) {
DECLARED
    float r = xf[i & 255];
    double s = 0.25 * t;
BODY
    out[i].sum += SUM;
    out[i].r += r == r ? r : 77;
    out[i].s += s == s ? float(s) : 78;
}
__global__ void NAME(TAKEN) {
    const int t = threadIdx.y * blockDim.x + threadIdx.x;
    NAME_body(blockIdx.x * (blockDim.x * blockDim.y) + t, t, GIVEN);
}
"""
MAIN = """
typedef void Kernel(TAKEN);
typedef void Body(int, int, TAKEN);
template <class T> T *made(size_t count) { T *p; cudaMallocManaged(&p, count * sizeof(T)); return p; }
int main() {
    struct { const char *name; Kernel *kernel; Body *body; } all[] = {ROWS};
    const dim3 blocks[] = {dim3(64), dim3(16, 4), dim3(50), dim3(7), dim3(33, 3)};
    const int G = 4;
    int bad = 0, ran = 0, *x = made<int>(256), *whole = made<int>(1 << 19), *edge = whole + (1 << 19);
    unsigned char *xb = made<unsigned char>(256), *bytes = made<unsigned char>(1 << 21);
    short *xs = made<short>(256);
    long long *xl = made<long long>(256);
    float *xf = made<float>(256);
    Out *ours = made<Out>(512), *theirs = made<Out>(512);
    for (int i = 0; i < 256; ++i) {
        x[i] = i % 5 ? (i * 29 + 7) % 11 : i * 0x12345671, xb[i] = i * 37, xs[i] = i * 2311;
        xl[i] = i * 0x123456789abcdefll;
        xf[i] = i % 7 == 3 ? NAN : i % 11 == 4 ? -INFINITY : i % 13 == 5 ? -0.0f : (i * 29 % 17) * 0.37f - 2;
    }
    for (int i = 0; i < 1 << 19; ++i) whole[i] = i * 7 % 23;
    for (int i = 0; i < 1 << 21; ++i) bytes[i] = i * 5 % 4;
    for (auto &k : all) for (dim3 d : blocks) for (unsigned few : {3u, 50u}) for (int n : {1, 77, 150}) {
        const int T = d.x * d.y, *last = edge - few;                // the memory that nobody may touch is behind it
        const unsigned char *lastb = bytes + (1 << 21) - few;
        memset((void *)ours, 0, 512 * sizeof(Out)), memset((void *)theirs, 0, 512 * sizeof(Out));
        k.kernel<<<G, d>>>(x, xb, xs, xl, xf, edge, last, lastb, few, ours, n);
        if (cudaError_t error = cudaDeviceSynchronize()) {
            printf("%s: %s\\n", k.name, cudaGetErrorString(error));
            return 1;
        }
        for (int i = 0; i < G * T; ++i) k.body(i, i % T, x, xb, xs, xl, xf, edge, last, lastb, few, theirs, n);
        ++ran;
        for (int i = 0; i < G * T; ++i)
            if (memcmp((void *)&ours[i], (void *)&theirs[i], sizeof(Out))) {
                ++bad;
                const Out &o = ours[i], &e = theirs[i];
                printf("%s %ux%u few %u n %d [%d]: %d %d %d %lld %g %g %llx, not %d %d %d %lld %g %g %llx\\n", k.name,
                       d.x, d.y, few, n, i, o.a, o.b, o.c, o.d, o.r, o.s, o.sum, e.a, e.b, e.c, e.d, e.r, e.s, e.sum);
                break;
            }
    }
    printf("%d of %d differ\\n", bad, ran);
    return bad != 0 || ran == 0;
}
"""


def program(seed, count):
    """The source of a program of so many random kernels that compares each with its reference."""
    rng = random.Random(seed)
    declared = "\n".join(f"    {kind} {name} = ({kind})({'t' if at % 2 else 'i'} * {at * 7 + 1} - {at});"
                         for at, (name, kind) in enumerate(VARIABLES.items()))
    total = " + ".join(f"(unsigned long long){name} * {2 * at + 1}" for at, name in enumerate(VARIABLES))
    names = [f"k{number}" for number in range(count)]
    made = [HEAD]
    for name in names:
        text = KERNEL.replace("DECLARED", declared).replace("SUM", total).replace("BODY", Body(rng).text)
        made.append(text.replace("NAME", name))
    return "".join([*made, MAIN.replace("ROWS", ", ".join(f'{{"{n}", {n}, {n}_body}}' for n in names))])
