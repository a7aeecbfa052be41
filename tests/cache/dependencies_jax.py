"""JAX functions whose program depends on one thing, before and after that thing has changed; as in `dependencies`."""

HEAD = "import functools\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n"
ARGUMENTS = "\ndef arguments():\n    return (jnp.arange(6.0) / 4,)\n"
COMPILED = "\ndef compiled():\n    import reactant\n    return reactant.jit(f, frontend='jax')\n"


def of_jax(text, *parts):
    """The program with each of some parts in the place of {}."""
    return tuple(HEAD + text.replace("{}", part) + ("" if "def compiled" in text else COMPILED)
                 + ("" if "def arguments" in text else ARGUMENTS) for part in parts)


JVP = "@jax.custom_jvp\ndef g(x):\n    return jnp.sin(x)\n@g.defjvp\ndef rule(p, t):\n    return g(p[0]), t[0] * {}\n" \
      "def f(x):\n    return jax.grad(lambda y: g(y).sum())(x)\n"
VJP = "@jax.custom_vjp\ndef g(x):\n    return jnp.sin(x)\ndef forward(x):\n    return g(x), x\n" \
      "def backward(x, t):\n    return (t * {},)\ng.defvjp(forward, backward)\n" \
      "def f(x):\n    return jax.grad(lambda y: g(y).sum())(x)\n"
NODE = "class C:\n    def __init__(self, x):\n        self.x = x\n" \
       "jax.tree_util.register_pytree_node(C, lambda c: ((c.x,), {}), lambda k, x: C(x[0] * k))\n" \
       "def f(x):\n    return jax.tree.map(lambda y: y + 1, C(x)).x\n"
RULES = "from jax._src.interpreters import ad\nfrom jax._src.lax import lax as internal\n" \
        "def rule(g, ans, x):\n    return g * {}\nad.defjvp2(internal.sin_p, rule)\n" \
        "def f(x):\n    return jax.grad(lambda y: jnp.sin(y).sum())(x)\n"
GRAD = "def compiled():\n    import reactant\n    return reactant.grad(g)\n" \
       "def f(x):\n    return jax.grad(g)(x)\n"

KINDS = {
    "code of a JAX function": of_jax("def f(x):\n    return jnp.sin(x) * {}\n", "2", "3"),
    "what it calls": of_jax("def g(x):\n    return x * {}\ndef f(x):\n    return jnp.sin(g(x))\n", "2", "3"),
    "a function under jax.jit": of_jax("@jax.jit\ndef g(x):\n    return x * {}\ndef f(x):\n    return g(x) + 1\n",
                                       "2", "3"),
    "the body of a scan": of_jax("def f(x):\n    return lax.scan(lambda c, y: (c * {} + y, c), 1.0, x)\n", "2", "3"),
    "a branch": of_jax("def g(x):\n    return x * {}\ndef f(x):\n    return lax.cond(x[1] > 0, g, lambda x: x, x)\n",
                       "2", "3"),
    "the rule of a custom_jvp": of_jax(JVP, "2", "3"),
    "the rule of a custom_vjp": of_jax(VJP, "2", "3"),
    "a function that is mapped": of_jax("g = jax.vmap(lambda x: x * {})\ndef f(x):\n    return g(x)\n", "2", "3"),
    "a static argument's value": of_jax(
        "@functools.partial(jax.jit, static_argnums=1)\ndef g(x, n):\n    return x ** n\nN = {}\n"
        "def f(x):\n    return g(x, N)\n", "2", "3"),
    "a static argument of its own": of_jax(
        "@functools.partial(jax.jit, static_argnums=1)\ndef f(x, n):\n    return x ** n\n"
        "def compiled():\n    import reactant\n    return reactant.jit(f)\n"
        "def arguments():\n    return jnp.arange(6.0), {}\n", "2", "3"),
    "a global number of JAX's": of_jax("K = {}\ndef f(x):\n    return jnp.sin(x) * K\n", "2.0", "3.0"),
    "a global array of JAX's": of_jax("K = jnp.full(6, {})\ndef f(x):\n    return jnp.sin(x) * K\n", "2.0", "3.0"),
    "a closure of JAX's": of_jax(
        "def make(k):\n    def f(x):\n        return jnp.sin(x) * k\n    return f\nf = make({})\n", "2.0", "3.0"),
    "how a class is taken apart": of_jax(NODE, "2", "3"),
    "a rule of jax's that is replaced": of_jax(RULES, "2", "3"),
    "a weak type": of_jax("def f(x):\n    return x * 2\ndef arguments():\n    return ({},)\ndef wanted(x):\n"
                          "    return jnp.asarray(x) * 2\n", "jnp.asarray(2.0)", "2.0"),
    "a setting of jax": of_jax("jax.config.update('jax_numpy_rank_promotion', {})\ndef f(x):\n    return jnp.sin(x)\n",
                               "'allow'", "'warn'"),
    "a setting in a context": of_jax(
        "def f(x):\n    return x @ x\ndef compiled():\n    import reactant\n    g = reactant.jit(f, frontend='jax')\n"
        "    def call(x):\n        with jax.default_matmul_precision({}):\n            return g(x)\n    return call\n",
        "'default'", "'highest'"),
    "what may be overwritten": of_jax(
        "def f(x):\n    return x * 2\ndef arguments():\n    return (np.arange(6, dtype=np.float32),)\n"
        "def compiled():\n    import reactant\n    return reactant.jit(f, frontend='jax'{})\n",
        "", ", donate_argnums=0"),
    "a random generator": of_jax(
        "def f(k):\n    return jax.random.uniform(k, (3,))\ndef arguments():\n"
        "    return (jax.random.key(3, impl={}),)\n", "'threefry2x32'", "'rbg'"),
    "code that reactant differentiates": of_jax("def g(x):\n    return jnp.sum(x ** {})\n" + GRAD, "2", "3"),
    "a rule that reactant follows": of_jax(
        JVP.partition("def f")[0].replace("def g(", "def h(").replace("@g.", "@h.").replace("return g(", "return h(")
        + "def g(x):\n    return h(x).sum()\n" + GRAD, "2", "3"),
}

NOT_CACHEABLE = {
    "a primitive of one's own": of_jax(
        "from jax.extend.core import Primitive\nfrom jax.interpreters import mlir\np = Primitive('mine')\n"
        "p.def_impl(lambda x: x * {})\np.def_abstract_eval(lambda x: x)\n"
        "mlir.register_lowering(p, mlir.lower_fun(lambda x: x * {}, multiple_results=False))\n"
        "def f(x):\n    return p.bind(x)\n", "2")[0],
    "a clock": of_jax("import time\ndef f(x):\n    return x + (time.time() > 0)\n", "")[0],
    "printing": of_jax("def f(x):\n    jax.debug.print('{}', x)\n    return x * 2\n", "{}")[0],
    "a callback": of_jax(
        "def f(x):\n    return jax.pure_callback(lambda y: y * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)\n", "")[0],
    "a setting of where results lie": of_jax(
        "def f(x):\n    return x * 2\ndef compiled():\n    import reactant\n"
        "    return reactant.jit(jax.jit(f, device=jax.devices()[0]), frontend='jax')\n", "")[0],
}
