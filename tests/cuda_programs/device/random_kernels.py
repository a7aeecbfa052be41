"""Random kernels with barriers in loops and branches, warp operations, shared memory and early ends, as one program:
their references run statement by statement over all threads of a block."""
import random

VARIABLES = ("a", "b", "c")


class Kernel:
    """A kernel and its reference, written statement by statement."""

    def __init__(self, name, rng):
        self.name, self.rng = name, rng
        self.code, self.reference = [], []
        self.ends, self.warps = False, rng.random() < .5
        self.body(2, False)
        self.both("y[g] += a + b * 3 + c * 7;")

    def expression(self, depth=2):
        rng = self.rng
        if depth == 0 or rng.random() < .2:
            memory = "x[(g * 5 + a) & 255]" if rng.random() < .5 else "x[g & 255]"
            return rng.choice([*VARIABLES, "t", "g", "n", str(rng.randint(0, 9)), memory, "k0", "ty"])
        how = rng.choice("+-*^&")
        return f"({self.expression(depth - 1)} {how} {self.expression(depth - 1)})"

    def condition(self):
        rng = self.rng
        return rng.choice([f"t < {rng.choice([1, 5, 16, 17, 32, 40])}", "g < n", f"({self.expression(1)} & 3) > 1",
                           "t > 3", "(t & 1)", "g < n - 20", f"x[g & 255] > {rng.randint(2, 9)}"])

    def alone(self, depth=2):
        """A statement of a thread by itself."""
        rng, chance = self.rng, self.rng.random()
        if depth and chance < .3:
            other = f" else {{ {self.alone(depth - 1)} }}" if rng.random() < .5 else ""
            return f"if ({self.condition()}) {{ {self.alone(depth - 1)} }}{other}"
        if depth and chance < .42:
            return f"for (int q = 0; q < ({self.expression(1)} & 3); ++q) {{ {self.alone(depth - 1)} }}"
        return f"y[g] += {self.expression(1)};" if chance < .5 else f"{rng.choice(VARIABLES)} = {self.expression()};"

    def both(self, text):
        self.code.append(text)
        self.reference.append(f"EACH {{ {text} }} DONE")

    def exchange(self):
        """Through shared memory, with a barrier."""
        value, offset = self.expression(1), self.rng.choice([1, 3, 16, 31])
        self.code += [f"s[p][t] = {value}; __syncthreads();", f"a += s[p][(t + {offset}) % T]; p ^= 1;"]
        self.reference += [f"EACH {{ s[p][t] = {value}; }} DONE",
                           f"EACH {{ a += s[p][(t + {offset}) % T]; }} DONE p ^= 1;"]

    def counted(self):
        condition = self.condition()
        self.code.append(f"b += __syncthreads_count({condition});")
        self.reference.append(f"{{ int all = 0; EACH {{ all += !!({condition}); }} DONE EACH {{ b += all; }} DONE }}")

    def warp(self):
        value, offset = self.rng.choice(VARIABLES), self.rng.choice([1, 2, 4, 8, 16])
        call, source = self.rng.choice([
            (f"__shfl_down_sync(~0u, {value}, {offset})", f"(l + {offset} < 32 ? l + {offset} : l)"),
            (f"__shfl_up_sync(~0u, {value}, {offset})", f"(l >= {offset} ? l - {offset} : l)"),
            (f"__shfl_xor_sync(~0u, {value}, {offset})", f"(l ^ {offset})"),
            (f"__shfl_sync(~0u, {value}, (t * 3 + {offset}) & 31)", f"((t * 3 + {offset}) & 31)"),
            (f"(int)__ballot_sync(~0u, {value} & 1)", "")])
        self.code.append(f"c ^= {call};")
        answer = f"c ^= given[(t & ~31) + {source}];" if source else \
            "int r = 0; for (int q = 0; q < 32; ++q) r |= (given[(t & ~31) + q] & 1) << q; c ^= r;"
        self.reference.append(f"EACH {{ given[t] = {value}; }} DONE EACH {{ int l = t & 31; (void)l; {answer} }} DONE")

    def nested(self, depth):
        rng = self.rng
        condition = rng.choice(["(n & 1)", "n > 50", "k0 < 2", "(bx & 1)", "x[3] > 4"])
        head = f"for (int k0 = 0; k0 < {rng.choice(['3', '(n & 3) + 1', '2'])}; ++k0) {{" if rng.random() < .6 else \
            f"if ({condition}) {{"
        for lines in (self.code, self.reference):
            lines.append(head)
        self.body(depth - 1, True)
        for lines in (self.code, self.reference):
            lines.append("}")

    def end(self):
        condition = self.condition()
        self.code.append(f"if ({condition}) {{ y[g] = a; return; }}")
        self.reference.append(f"EACH {{ if ({condition}) {{ y[g] = a; alive[t] = 0; continue; }} }} DONE")
        self.ends = True

    def body(self, depth, inside):
        for _ in range(self.rng.randint(1, 4)):
            chance = self.rng.random()
            if chance < .4:
                self.both(self.alone())
            elif chance < .55:
                self.exchange()
            elif chance < .62:
                self.counted()
            elif chance < .8 and self.warps and not self.ends:
                self.warp()
            elif chance < .9 and depth:
                self.nested(depth)
            elif chance < .95 and not (self.warps or inside or self.ends):
                self.end()
            else:
                self.both(self.alone())


HEAD = """#include <cstdio>
#include <cstring>
#define EACH for (int t = 0; t < T; ++t) if (alive[t]) { int &a = A[t], &b = B[t], &c = C[t]; \\
    int g = bx * T + t, ty = t / NX; (void)a; (void)b; (void)c; (void)g; (void)ty;
#define DONE }
"""
KERNEL = """__global__ void NAME(const int *x, int *y, int n) {
    __shared__ int s[2][256];
    int T = blockDim.x * blockDim.y, t = threadIdx.y * blockDim.x + threadIdx.x, bx = blockIdx.x, g = bx * T + t;
    int a = t, b = g, c = 1, p = 0, k0 = 0, ty = threadIdx.y;
    s[0][t] = s[1][t] = 0;
    (void)p; (void)k0; (void)ty;
    __syncthreads();
BODY
}
static void NAME_reference(int bx, int T, int NX, const int *x, int *y, int n) {
    static int s[2][256], A[256], B[256], C[256], given[256], alive[256];
    int p = 0, k0 = 0;
    (void)p; (void)k0; (void)given;
    memset(s, 0, sizeof s);
    for (int t = 0; t < T; ++t) { A[t] = t; B[t] = bx * T + t; C[t] = 1; alive[t] = 1; }
REFERENCE
}
static void NAME_launch(int G, dim3 d, const int *x, int *y, int n) {
    if (d.x == ONE_X && d.y == ONE_Y) NAME<<<G, dim3(ONE_X, ONE_Y)>>>(x, y, n);
    else if (d.x == TWO_X && d.y == TWO_Y) NAME<<<G, dim3(TWO_X, TWO_Y)>>>(x, y, n);
    else NAME<<<G, d>>>(x, y, n);
}
"""
SHAPES = [(64, 1, 16, 4), (16, 1, 32, 3), (50, 1, 16, 8)]
"""Of blocks that the compiler sees; others it does not."""
MAIN = """
typedef void Launch(int, dim3, const int *, int *, int);
typedef void Reference(int, int, int, const int *, int *, int);
int main() {
    struct { const char *name; Launch *launch; Reference *reference; bool warps; } all[] = {ROWS};
    const dim3 blocks[] = {dim3(64), dim3(32), dim3(128), dim3(16, 4), dim3(50), dim3(8, 5), dim3(96), dim3(32, 3),
                           dim3(16), dim3(16, 8)};
    int bad = 0, ran = 0, *x, *y, *z;
    const int G = 3;
    cudaMallocManaged(&x, 1024); cudaMallocManaged(&y, 4096); cudaMallocManaged(&z, 4096);
    for (int i = 0; i < 256; ++i) x[i] = (i * 29 + 7) % 11;
    for (auto &k : all) for (dim3 d : blocks) for (int n : {1, 77, 150}) {
        const int T = d.x * d.y;
        if (k.warps && T % 32) continue;
        for (int i = 0; i < T * G; ++i) y[i] = z[i] = 5;
        k.launch(G, d, x, y, n);
        cudaDeviceSynchronize();
        for (int b = 0; b < G; ++b) k.reference(b, T, d.x, x, z, n);
        ++ran;
        for (int i = 0; i < T * G; ++i)
            if (y[i] != z[i]) {
                printf("%s %ux%u n %d [%d]: %d, not %d\\n", k.name, d.x, d.y, n, i, y[i], z[i]);
                ++bad;
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
    kernels = [Kernel(f"k{number}", rng) for number in range(count)]
    made = [HEAD]
    for kernel in kernels:
        text = KERNEL.replace("BODY", "\n".join(kernel.code)).replace("REFERENCE", "\n".join(kernel.reference))
        for word, extent in zip(("ONE_X", "ONE_Y", "TWO_X", "TWO_Y"), SHAPES[len(made) % len(SHAPES)], strict=True):
            text = text.replace(word, str(extent))
        made.append(text.replace("NAME", kernel.name))
    rows = ", ".join(f'{{"{k.name}", {k.name}_launch, {k.name}_reference, {str(k.warps).lower()}}}' for k in kernels)
    return "".join([*made, MAIN.replace("ROWS", rows)])
