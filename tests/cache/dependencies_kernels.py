"""Launches whose program depends on one thing, before and after that thing has changed; as in `dependencies`."""

NUMBA = "from numba import cuda\nimport reactant\n{head}\n@cuda.jit{options}\ndef k(x):\n    i = cuda.grid(1)\n" \
        "    if i < x.size:\n        x[i] = {body}\n"
LAUNCH = "def f(x):\n    reactant.kernel(k{how})[{shape}](x)\n    return x\n"
ALONE = "def compiled():\n    return f\n"
WANTED = "def wanted(x):\n    x[:] = {}\n    return x\n"


def of_numba(*rows, alone=False):
    """Programs with kernels: (body, what comes out, other parts) of each."""
    return tuple(NUMBA.format(head=parts.get("head", ""), options=parts.get("options", ""), body=body)
                 + LAUNCH.format(how=parts.get("how", ""), shape=parts.get("shape", "1, 32")) + ALONE * alone
                 + WANTED.format(wanted) for body, wanted, parts in rows)


SOURCE = "import reactant\nk = reactant.{load}('''{text}''', {name!r}{more})\n" \
         "def f(x):\n    {launch}(x)\n    return x\ndef wanted(x):\n    x[:] = {wanted}\n    return x\n"
CUDA = 'extern "C" __global__ void k(double *x) {{ int i = threadIdx.x; if (i < 6) x[i] = x[i] * {}; }}'
CONSTANT = "__constant__ double c[1] = {2};" + CUDA.format("c[0]").replace("{{", "{").replace("}}", "}")
C = "void k(double *x) {{ for (int i = 0; i < 6; i++) x[i] = x[i] * {}; }}"


def of_cuda(text, wanted, more="", name="k", after=""):
    return SOURCE.format(load="cuda.load", text=text, name=name, more=more, launch="k[1, 32]", wanted=wanted) + after


NUMBA_KINDS = {
    "a kernel's code": of_numba(("x[i] * 2", "x * 2", {}), ("x[i] * 3", "x * 3", {})),
    "a kernel's code, launched alone": of_numba(("x[i] * 2", "x * 2", {}), ("x[i] * 3", "x * 3", {}), alone=True),
    "a device function's code": of_numba(*(
        ("d(x[i])", f"x * {n}", {"head": f"@cuda.jit(device=True)\ndef d(y):\n    return y * {n}\n"}) for n in (2, 3))),
    "a global of a kernel": of_numba(*(("x[i] * K", f"x * {n}", {"head": f"K = {n}.0"}) for n in (2, 3))),
    "the block of a launch": of_numba(("x[i] * 2", "x * 2", {}), ("x[i] * 2", "x * 2", {"shape": "1, 64"})),
    "how a kernel is lowered": of_numba(("x[i] * 2", "x * 2", {"how": ", lower='native'"}),
                                        ("x[i] * 2", "x * 2", {"how": ", lower='tensor'"})),
    "options of Numba": of_numba(("x[i] * 2", "x * 2", {}), ("x[i] * 2", "x * 2", {"options": "(fastmath=True)"})),
    "settings of Numba": of_numba(("x[i] * 2", "x * 2", {}), ("x[i] * 2", "x * 2", {
        "head": "from numba.core import config\nconfig.LOOP_VECTORIZE = 0\n"})),
}
KINDS = {
    "CUDA C++": (of_cuda(CUDA.format("2"), "x * 2"), of_cuda(CUDA.format("3"), "x * 3")),
    "macros": tuple(of_cuda(CUDA.format("FACTOR"), f"x * {n}", f", defines={{'FACTOR': {n}}}") for n in (2, 3)),
    "a variable's content": (of_cuda(CONSTANT, "x * 2"),
                             of_cuda(CONSTANT, "x * 3", name=None).replace("k[1, 32]", "k.k[1, 32]")
                             + "k.variables['c'][:] = 3\n"),
    "a C function": tuple(SOURCE.format(load="c.load", text=C.format(n), name="k", more="", launch="k",
                                        wanted=f"x * {n}") for n in (2, 3)),
}
NOT_CACHEABLE = {
    "an implementation of the user's": of_numba(("g(x[i])", "x * 2", {"head": (
        "from numba.cuda.extending import overload\ndef g(x):\n    return x * 3\n@overload(g, target='cuda')\n"
        "def other(x):\n    def impl(x):\n        return x * 2\n    return impl\n")}))[0],
}
