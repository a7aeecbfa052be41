"""Derivatives and mapped functions whose result depends on one thing, before and after that thing has changed; as in
`dependencies`, but that `compiled` makes what is called, and `wanted` says what it gives."""

GRAD = "import reactant\n{}\ndef compiled():\n    return reactant.grad(f)\ndef wanted(x):\n    return {}\n"
VMAP = "import reactant\n{}\ndef wanted(x):\n    return {}\n" \
       "def arguments():\n    return (np.arange(12.0).reshape(3, 4),)\n"


def of_grad(before, after, wanted_before, wanted_after):
    return GRAD.format(before, wanted_before), GRAD.format(after, wanted_after)


def of_vmap(before, after, wanted_before, wanted_after):
    return VMAP.format(before, wanted_before), VMAP.format(after, wanted_after)


RULE = ("@reactant.custom_derivative\ndef g(x):\n    return np.sin(x)\n@g.jvp\ndef rule(arguments, tangents):\n"
        "    (x,), (t,) = arguments, tangents\n    return g(x), t * {}\ndef f(x):\n    return np.sum(g(x))\n")
LATE = ("import reactant\ndef f(x):\n    return np.sum(x ** {})\ndef compiled():\n    def call(x):\n"
        "        {}\n    return call\ndef wanted(x):\n    return {}\n")
PULL = "value, pull = reactant.vjp(f, x)\n        return value, pull(2.0)[0], pull(3.0)[0]"
PUSH = "value, push = reactant.linearize(f, x)\n        return value, push(x)"
INSIDE = "import reactant\ndef g(x):\n    return np.sum(x ** {})\ndef f(x):\n    return reactant.grad(g)(x) + 1\n" \
         "def wanted(x):\n    return {} + 1\n"
AXES = "def f(x, y):\n    return np.sum(x * y)\ndef compiled():\n    return reactant.vmap(f, in_axes=({}))\n" \
       "def arguments():\n    return np.arange(9.0).reshape(3, 3), np.ones((3, 3)) * np.arange(3.0)\n" \
       "def wanted(x, y):\n    return {}\n"

KINDS = {
    "code of what is differentiated": of_grad(
        "def f(x):\n    return np.sum(x ** 2)\n", "def f(x):\n    return np.sum(x ** 3)\n", "2 * x", "3 * x ** 2"),
    "code of what that calls": of_grad(
        "def g(x):\n    return x * x\ndef f(x):\n    return np.sum(g(x))\n",
        "def g(x):\n    return x * x * 2\ndef f(x):\n    return np.sum(g(x))\n", "2 * x", "4 * x"),
    "a global that it reads": of_grad(
        "K = 2.0\ndef f(x):\n    return np.sum(x * K)\n", "K = 3.0\ndef f(x):\n    return np.sum(x * K)\n",
        "np.full(6, 2.0)", "np.full(6, 3.0)"),
    "a rule of the user's": of_grad(RULE.format(2.0), RULE.format(3.0), "np.full(6, 2.0)", "np.full(6, 3.0)"),
    "which argument varies": tuple(
        "import reactant\ndef f(x, y):\n    return np.sum(x * x * y)\ndef compiled():\n"
        f"    return reactant.grad(f, argnums={n})\ndef arguments():\n    return np.arange(3.0), np.ones(3) * 5\n"
        f"def wanted(x, y):\n    return {wanted}\n" for n, wanted in ((0, "2 * x * y"), (1, "x * x"))),
    "which states are kept": tuple(
        "import reactant\ndef f(x):\n    for _ in range(9):\n        x = np.sin(x)\n    return np.sum(x)\n"
        f"def compiled():\n    return reactant.grad(f, checkpoint={policy})\ndef arguments():\n"
        "    return (np.zeros(3),)\ndef wanted(x):\n    return np.ones(3)\n" for policy in ("'all'", "3")),
    "a gradient inside a program": (INSIDE.format(2, "2 * x"), INSIDE.format(3, "3 * x ** 2")),
    "a compiled function's options": tuple(
        "import reactant\ndef f(x):\n    return np.sum(x * x)\ndef compiled():\n"
        f"    return reactant.grad(reactant.jit(f, native={native!r}))\ndef wanted(x):\n    return 2 * x\n"
        for native in ("auto", "never")),
    "what a pullback is of": (LATE.format(2, PULL, "np.sum(x ** 2), 4 * x, 6 * x"),
                              LATE.format(3, PULL, "np.sum(x ** 3), 6 * x ** 2, 9 * x ** 2")),
    "what is linearized": (LATE.format(2, PUSH, "np.sum(x ** 2), np.sum(2 * x * x)"),
                           LATE.format(3, PUSH, "np.sum(x ** 3), np.sum(3 * x ** 3)")),
    "what is pushed forward": (
        LATE.format(2, "return reactant.jvp(f, (x,), (x,))", "np.sum(x ** 2), np.sum(2 * x * x)"),
        LATE.format(3, "return reactant.jvp(f, (x,), (x,))", "np.sum(x ** 3), np.sum(3 * x ** 3)")),
    "a Hessian's function": (
        LATE.format(2, "return reactant.hessian(f)(x)", "2 * np.eye(6)"),
        LATE.format(3, "return reactant.hessian(f)(x)", "np.diag(6 * x)")),
    "a Hessian's product": (
        LATE.format(2, "return reactant.hvp(f, (x,), (x,))", "2 * x"),
        LATE.format(3, "return reactant.hvp(f, (x,), (x,))", "6 * x * x")),
    "what is mapped": of_vmap(
        "def f(x):\n    return x.sum()\ndef compiled():\n    return reactant.vmap(f)\n",
        "def f(x):\n    return x.sum() * 2\ndef compiled():\n    return reactant.vmap(f)\n",
        "x.sum(axis=1)", "x.sum(axis=1) * 2"),
    "a global that that reads": of_vmap(
        "K = 2.0\ndef f(x):\n    return x.sum() * K\ndef compiled():\n    return reactant.vmap(f)\n",
        "K = 3.0\ndef f(x):\n    return x.sum() * K\ndef compiled():\n    return reactant.vmap(f)\n",
        "x.sum(axis=1) * 2", "x.sum(axis=1) * 3"),
    "axes that are mapped": ("import reactant\n" + AXES.format("0, 0", "(x * y).sum(axis=1)"),
                             "import reactant\n" + AXES.format("0, 1", "(x * y.T).sum(axis=1)")),
    "where the batch goes": tuple(
        "import reactant\ndef f(x):\n    return x * 2\ndef compiled():\n"
        f"    return reactant.vmap(f, out_axes={axis})\ndef arguments():\n    return (np.arange(12.0).reshape(3, 4),)\n"
        f"def wanted(x):\n    return np.ascontiguousarray((x * 2){turned})\n" for axis, turned in ((0, ""), (1, ".T"))),
    "a mapped function in a program": of_vmap(
        "g = reactant.vmap(lambda v: v.sum())\ndef f(x):\n    return g(x) + 1\n",
        "g = reactant.vmap(lambda v: v.max())\ndef f(x):\n    return g(x) + 1\n",
        "x.sum(axis=1) + 1", "x.max(axis=1) + 1"),
}
