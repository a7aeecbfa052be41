"""Programs whose result depends on one thing outside of the function, before and after that thing has changed.

Each defines `f` and `arguments`; {other} is the name of a second module. `f` itself stays the same, but where
its own code is the thing.
"""

HEAD = "import numpy as np\n"
ARGUMENTS = "\ndef arguments():\n    return (np.arange(6.0),)\n"

# name: (module before, after), or (module before, other before, module after, other after)
KINDS = {
    "its own code": (
        "def f(x):\n    return x * 2.0\n",
        "def f(x):\n    return x * 3.0\n",
    ),
    "code of a function it calls": (
        "def g(x):\n    return x + 1\ndef f(x):\n    return g(x)\n",
        "def g(x):\n    return x + 2\ndef f(x):\n    return g(x)\n",
    ),
    "code of one that that calls": (
        "def h(x):\n    return x + 1\ndef g(x):\n    return h(x)\ndef f(x):\n    return g(x)\n",
        "def h(x):\n    return x + 2\ndef g(x):\n    return h(x)\ndef f(x):\n    return g(x)\n",
    ),
    "code of a nested function": (
        "def f(x):\n    def g(y):\n        return y + 1\n    return g(x)\n",
        "def f(x):\n    def g(y):\n        return y + 2\n    return g(x)\n",
    ),
    "a lambda": (
        "g = lambda x: x + 1\ndef f(x):\n    return g(x)\n",
        "g = lambda x: x + 2\ndef f(x):\n    return g(x)\n",
    ),
    "a global number": (
        "K = 2.0\ndef f(x):\n    return x * K\n",
        "K = 3.0\ndef f(x):\n    return x * K\n",
    ),
    "its type": (
        "K = 2.0\ndef f(x):\n    return x.astype(np.int64) // 2 * K\n",
        "K = 2\ndef f(x):\n    return x.astype(np.int64) // 2 * K\n",
    ),
    "a zero's sign": (
        "K = 0.0\ndef f(x):\n    return np.copysign(x + 1, K)\n",
        "K = -0.0\ndef f(x):\n    return np.copysign(x + 1, K)\n",
    ),
    "a global text": (
        "MODE = 'a'\ndef f(x):\n    return x + 1 if MODE == 'a' else x + 2\n",
        "MODE = 'b'\ndef f(x):\n    return x + 1 if MODE == 'a' else x + 2\n",
    ),
    "a global array's content": (
        "K = np.arange(6.0)\ndef f(x):\n    return x * K\n",
        "K = np.arange(6.0)[::-1].copy()\ndef f(x):\n    return x * K\n",
    ),
    "one element of a big one": (
        "K = np.ones(5000)\nK[4321] = 1\ndef f(x):\n    return x * K.sum()\n",
        "K = np.ones(5000)\nK[4321] = 2\ndef f(x):\n    return x * K.sum()\n",
    ),
    "a global array's dtype": (
        "K = np.arange(6)\ndef f(x):\n    return x.astype(np.float32) * K\n",
        "K = np.arange(6, dtype=np.float32)\ndef f(x):\n    return x.astype(np.float32) * K\n",
    ),
    "a view's strides": (
        "K = np.arange(36.0).reshape(6, 6)[0]\ndef f(x):\n    return x * K\n",
        "K = np.arange(36.0).reshape(6, 6)[:, 0]\ndef f(x):\n    return x * K\n",
    ),
    "an element of a list": (
        "K = [1.0, 2.0]\ndef f(x):\n    return x * K[1]\n",
        "K = [1.0, 3.0]\ndef f(x):\n    return x * K[1]\n",
    ),
    "an item of a dict": (
        "K = {'a': 1.0}\ndef f(x):\n    return x * K['a']\n",
        "K = {'a': 2.0}\ndef f(x):\n    return x * K['a']\n",
    ),
    "a dict's order": (
        "K = {'a': 1.0, 'b': 2.0}\ndef f(x):\n    for v in K.values():\n        x = x * v + 1\n"
        "    return x\n",
        "K = {'b': 2.0, 'a': 1.0}\ndef f(x):\n    for v in K.values():\n        x = x * v + 1\n"
        "    return x\n",
    ),
    "a set": (
        "K = {1, 2}\ndef f(x):\n    return x + 1 if 2 in K else x\n",
        "K = {1, 3}\ndef f(x):\n    return x + 1 if 2 in K else x\n",
    ),
    "deep in containers": (
        "K = {'a': [(1, {'b': np.float32(2)})]}\ndef f(x):\n    return x * K['a'][0][1]['b']\n",
        "K = {'a': [(1, {'b': np.float32(3)})]}\ndef f(x):\n    return x * K['a'][0][1]['b']\n",
    ),
    "a closure's cell": (
        "def make(k):\n    def f(x):\n        return x * k\n    return f\nf = make(2.0)\n",
        "def make(k):\n    def f(x):\n        return x * k\n    return f\nf = make(3.0)\n",
    ),
    "a cell of a function it calls": (
        "def make(k):\n    def g(x):\n        return x * k\n    return g\ng = make(2.0)\ndef f(x):\n"
        "    return g(x)\n",
        "def make(k):\n    def g(x):\n        return x * k\n    return g\ng = make(3.0)\ndef f(x):\n"
        "    return g(x)\n",
    ),
    "a default": (
        "def g(x, k=2.0):\n    return x * k\ndef f(x):\n    return g(x)\n",
        "def g(x, k=3.0):\n    return x * k\ndef f(x):\n    return g(x)\n",
    ),
    "a default by keyword": (
        "def g(x, *, k=2.0):\n    return x * k\ndef f(x):\n    return g(x)\n",
        "def g(x, *, k=3.0):\n    return x * k\ndef f(x):\n    return g(x)\n",
    ),
    "its own default": (
        "def f(x, k=np.float64(2)):\n    return x * k\n",
        "def f(x, k=np.float64(3)):\n    return x * k\n",
    ),
    "a partial's argument": (
        "import functools\ndef g(x, k):\n    return x * k\nh = functools.partial(g, k=2.0)\ndef f(x):\n"
        "    return h(x)\n",
        "import functools\ndef g(x, k):\n    return x * k\nh = functools.partial(g, k=3.0)\ndef f(x):\n"
        "    return h(x)\n",
    ),
    "an attribute of a function": (
        "def g(x):\n    return x * g.k\ng.k = 2.0\ndef f(x):\n    return g(x)\n",
        "def g(x):\n    return x * g.k\ng.k = 3.0\ndef f(x):\n    return g(x)\n",
    ),
    "an object's attribute": (
        "class C:\n    pass\nc = C()\nc.k = 2.0\ndef f(x):\n    return x * c.k\n",
        "class C:\n    pass\nc = C()\nc.k = 3.0\ndef f(x):\n    return x * c.k\n",
    ),
    "a slot": (
        "class C:\n    __slots__ = ('k',)\nc = C()\nc.k = 2.0\ndef f(x):\n    return x * c.k\n",
        "class C:\n    __slots__ = ('k',)\nc = C()\nc.k = 3.0\ndef f(x):\n    return x * c.k\n",
    ),
    "an attribute of self": (
        "class C:\n    def __init__(self, k):\n        self.k = k\n    def m(self, x):\n"
        "        return x * self.k\nc = C(2)\ndef f(x):\n    return c.m(x)\n",
        "class C:\n    def __init__(self, k):\n        self.k = k\n    def m(self, x):\n"
        "        return x * self.k\nc = C(3)\ndef f(x):\n    return c.m(x)\n",
    ),
    "a class attribute": (
        "class C:\n    k = 2.0\ndef f(x):\n    return x * C.k\n",
        "class C:\n    k = 3.0\ndef f(x):\n    return x * C.k\n",
    ),
    "one of a base class": (
        "class B:\n    k = 2.0\nclass C(B):\n    pass\ndef f(x):\n    return x * C().k\n",
        "class B:\n    k = 3.0\nclass C(B):\n    pass\ndef f(x):\n    return x * C().k\n",
    ),
    "the order of bases": (
        "class A:\n    k = 2.0\nclass B:\n    k = 3.0\nclass C(A, B):\n    pass\ndef f(x):\n"
        "    return x * C.k\n",
        "class A:\n    k = 2.0\nclass B:\n    k = 3.0\nclass C(B, A):\n    pass\ndef f(x):\n"
        "    return x * C.k\n",
    ),
    "a method": (
        "class C:\n    def m(self, x):\n        return x + 1\ndef f(x):\n    return C().m(x)\n",
        "class C:\n    def m(self, x):\n        return x + 2\ndef f(x):\n    return C().m(x)\n",
    ),
    "a method put in its place": (
        "class C:\n    def m(self, x):\n        return x + 1\n    def n(self, x):\n"
        "        return x + 2\nC.m = C.m\ndef f(x):\n    return C().m(x)\n",
        "class C:\n    def m(self, x):\n        return x + 1\n    def n(self, x):\n"
        "        return x + 2\nC.m = C.n\ndef f(x):\n    return C().m(x)\n",
    ),
    "a property": (
        "class C:\n    @property\n    def k(self):\n        return 2.0\ndef f(x):\n"
        "    return x * C().k\n",
        "class C:\n    @property\n    def k(self):\n        return 3.0\ndef f(x):\n"
        "    return x * C().k\n",
    ),
    "a static method": (
        "class C:\n    @staticmethod\n    def k(x):\n        return x + 1\ndef f(x):\n"
        "    return C.k(x)\n",
        "class C:\n    @staticmethod\n    def k(x):\n        return x + 2\ndef f(x):\n"
        "    return C.k(x)\n",
    ),
    "a class method": (
        "class C:\n    @classmethod\n    def k(cls, x):\n        return x + 1\ndef f(x):\n"
        "    return C.k(x)\n",
        "class C:\n    @classmethod\n    def k(cls, x):\n        return x + 2\ndef f(x):\n"
        "    return C.k(x)\n",
    ),
    "a metaclass": (
        "class M(type):\n    def k(cls):\n        return 2.0\nclass C(metaclass=M):\n    pass\n"
        "def f(x):\n    return x * C.k()\n",
        "class M(type):\n    def k(cls):\n        return 3.0\nclass C(metaclass=M):\n    pass\n"
        "def f(x):\n    return x * C.k()\n",
    ),
    "a descriptor": (
        "class D:\n    def __get__(self, owner, cls):\n        return 2.0\nclass C:\n    k = D()\n"
        "def f(x):\n    return x * C().k\n",
        "class D:\n    def __get__(self, owner, cls):\n        return 3.0\nclass C:\n    k = D()\n"
        "def f(x):\n    return x * C().k\n",
    ),
    "a dataclass's default": (
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n    k: float = 2.0\ndef f(x):\n"
        "    return x * C().k\n",
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n    k: float = 3.0\ndef f(x):\n"
        "    return x * C().k\n",
    ),
    "an enum's value": (
        "import enum\nclass E(enum.Enum):\n    A = 2\ndef f(x):\n    return x * E.A.value\n",
        "import enum\nclass E(enum.Enum):\n    A = 3\ndef f(x):\n    return x * E.A.value\n",
    ),
    "a named tuple's field": (
        "import collections\nN = collections.namedtuple('N', 'a b')\nn = N(2.0, 3.0)\ndef f(x):\n"
        "    return x * n.a\n",
        "import collections\nN = collections.namedtuple('N', 'b a')\nn = N(2.0, 3.0)\ndef f(x):\n"
        "    return x * n.a\n",
    ),
    "what a decorator brings": (
        "import functools\ndef times(k):\n    def d(g):\n        @functools.wraps(g)\n"
        "        def w(x):\n            return g(x) * k\n        return w\n    return d\n@times(2.0)\n"
        "def g(x):\n    return x + 1\ndef f(x):\n    return g(x)\n",
        "import functools\ndef times(k):\n    def d(g):\n        @functools.wraps(g)\n"
        "        def w(x):\n            return g(x) * k\n        return w\n    return d\n@times(3.0)\n"
        "def g(x):\n    return x + 1\ndef f(x):\n    return g(x)\n",
    ),
    "what is wrapped": (
        "import functools\ndef d(g):\n    @functools.wraps(g)\n    def w(x):\n        return g(x)\n"
        "    return w\n@d\ndef f(x):\n    return x + 1\n",
        "import functools\ndef d(g):\n    @functools.wraps(g)\n    def w(x):\n        return g(x)\n"
        "    return w\n@d\ndef f(x):\n    return x + 2\n",
    ),
    "a cached function": (
        "import functools\n@functools.lru_cache\ndef g(n):\n    return n + 1\ndef f(x):\n"
        "    return x * g(2)\n",
        "import functools\n@functools.lru_cache\ndef g(n):\n    return n + 2\ndef f(x):\n"
        "    return x * g(2)\n",
    ),
    "a single dispatch": (
        "import functools\n@functools.singledispatch\ndef g(k):\n    return 0.0\n@g.register\n"
        "def _(k: int):\n    return 2.0\ndef f(x):\n    return x * g(1)\n",
        "import functools\n@functools.singledispatch\ndef g(k):\n    return 0.0\n@g.register\n"
        "def _(k: int):\n    return 3.0\ndef f(x):\n    return x * g(1)\n",
    ),
    "a generator": (
        "def g(x):\n    for k in (1.0, 2.0):\n        yield x * k\ndef f(x):\n    return sum(g(x))\n",
        "def g(x):\n    for k in (1.0, 3.0):\n        yield x * k\ndef f(x):\n    return sum(g(x))\n",
    ),
    "a function in a list": (
        "def g(x):\n    return x + 1\nG = [g]\ndef f(x):\n    return G[0](x)\n",
        "def g(x):\n    return x + 2\nG = [g]\ndef f(x):\n    return G[0](x)\n",
    ),
    "which function a name means": (
        "def g(x):\n    return x + 1\ndef h(x):\n    return x + 2\nk = g\ndef f(x):\n    return k(x)\n",
        "def g(x):\n    return x + 1\ndef h(x):\n    return x + 2\nk = h\ndef f(x):\n    return k(x)\n",
    ),
    "a builtin hidden": (
        "def f(x):\n    return x * max(2, 3)\nl = len\n",
        "def f(x):\n    return x * max(2, 3)\nmax = min\n",
    ),
    "an object that is called": (
        "class C:\n    def __call__(self, x):\n        return x + 1\nc = C()\ndef f(x):\n"
        "    return c(x)\n",
        "class C:\n    def __call__(self, x):\n        return x + 2\nc = C()\ndef f(x):\n"
        "    return c(x)\n",
    ),
    "an operator of a class": (
        "class C:\n    def __add__(self, x):\n        return x + 1\nc = C()\ndef f(x):\n"
        "    return c + x\n",
        "class C:\n    def __add__(self, x):\n        return x + 2\nc = C()\ndef f(x):\n"
        "    return c + x\n",
    ),
    "a context manager": (
        "import contextlib\n@contextlib.contextmanager\ndef m():\n    yield 2.0\ndef f(x):\n"
        "    with m() as k:\n        return x * k\n",
        "import contextlib\n@contextlib.contextmanager\ndef m():\n    yield 3.0\ndef f(x):\n"
        "    with m() as k:\n        return x * k\n",
    ),
    "whether two names are one list": (
        "A = [1.0]\nB = A\ndef f(x):\n    return x + 1 if A is B else x + 2\n",
        "A = [1.0]\nB = [1.0]\ndef f(x):\n    return x + 1 if A is B else x + 2\n",
    ),
    "an argument's default": (
        "import reactant\n@reactant.jit\ndef g(x, k=2.0):\n    return x * k\ndef f(x):\n"
        "    return g(x)\n",
        "import reactant\n@reactant.jit\ndef g(x, k=3.0):\n    return x * k\ndef f(x):\n"
        "    return g(x)\n",
    ),
    "what a base class takes for its own": (
        "import abc\nclass A(abc.ABC):\n    pass\nclass C:\n    pass\nA.register(C)\ndef f(x):\n"
        "    return x + 1 if isinstance(C(), A) else x + 2\n",
        "import abc\nclass A(abc.ABC):\n    pass\nclass C:\n    pass\nC.__name__\ndef f(x):\n"
        "    return x + 1 if isinstance(C(), A) else x + 2\n",
    ),
    "the same of a library's": (
        "import numbers\nclass C:\n    pass\nnumbers.Number.register(C)\ndef f(x):\n"
        "    return x + 1 if isinstance(C(), numbers.Number) else x + 2\n",
        "import numbers\nclass C:\n    pass\nnumbers.Number.__name__\ndef f(x):\n"
        "    return x + 1 if isinstance(C(), numbers.Number) else x + 2\n",
    ),
    "which attributes a pattern means": (
        "class C:\n    __match_args__ = ('a',)\n    a, b = 2.0, 3.0\n"
        "def f(x):\n    match C():\n        case C(k):\n            return x * k\n",
        "class C:\n    __match_args__ = ('b',)\n    a, b = 2.0, 3.0\n"
        "def f(x):\n    match C():\n        case C(k):\n            return x * k\n",
    ),
    "what a class takes for its own": (
        "import abc\nclass A(abc.ABC):\n    @classmethod\n    def __subclasshook__(cls, other):\n        return True\n"
        "def f(x):\n    return x + 1 if isinstance('a', A) else x + 2\n",
        "import abc\nclass A(abc.ABC):\n    @classmethod\n    def __subclasshook__(cls, other):\n        return False\n"
        "def f(x):\n    return x + 1 if isinstance('a', A) else x + 2\n",
    ),
    "a description": (
        "class C:\n    'a'\ndef f(x):\n    return x * len(C.__doc__)\n",
        "class C:\n    'ab'\ndef f(x):\n    return x * len(C.__doc__)\n",
    ),
    "a description of a function": (
        "def g():\n    'a'\ndef f(x):\n    return x * len(g.__doc__)\n",
        "def g():\n    'ab'\ndef f(x):\n    return x * len(g.__doc__)\n",
    ),
    "the name of a function": (
        "def g():\n    pass\ng.__name__ = 'g'\ndef f(x):\n    return x * len(g.__name__)\n",
        "def g():\n    pass\ng.__name__ = 'gg'\ndef f(x):\n    return x * len(g.__name__)\n",
    ),
    "a module's attribute": (
        "import {other}\ndef f(x):\n    return x * {other}.K\n",
        "K = 2.0\n",
        "import {other}\ndef f(x):\n    return x * {other}.K\n",
        "K = 3.0\n",
    ),
    "a module's function": (
        "import {other}\ndef f(x):\n    return {other}.g(x)\n",
        "def g(x):\n    return x + 1\n",
        "import {other}\ndef f(x):\n    return {other}.g(x)\n",
        "def g(x):\n    return x + 2\n",
    ),
    "what a module's function reads": (
        "from {other} import g\ndef f(x):\n    return g(x)\n",
        "K = 1\ndef g(x):\n    return x + K\n",
        "from {other} import g\ndef f(x):\n    return g(x)\n",
        "K = 2\ndef g(x):\n    return x + K\n",
    ),
    "a module that a function is given": (
        "import {other}\ndef g(m, x):\n    return x * m.K\ndef f(x):\n    return g({other}, x)\n",
        "K = 2.0\n",
        "import {other}\ndef g(m, x):\n    return x * m.K\ndef f(x):\n    return g({other}, x)\n",
        "K = 3.0\n",
    ),
    "a module imported inside": (
        "def f(x):\n    import {other}\n    return x * {other}.K\nimport {other}\n",
        "K = 2.0\n",
        "def f(x):\n    import {other}\n    return x * {other}.K\nimport {other}\n",
        "K = 3.0\n",
    ),
    "a name imported inside": (
        "def f(x):\n    from {other} import K\n    return x * K\nimport {other}\n",
        "K = 2.0\n",
        "def f(x):\n    from {other} import K\n    return x * K\nimport {other}\n",
        "K = 3.0\n",
    ),
    "NumPy's function put in its place": (
        "def f(x):\n    return np.square(x)\n",
        "def f(x):\n    return np.square(x)\nreal, np.square = np.square, np.negative\n",
    ),
    "a method put into a library's class": (
        "import fractions\ndef m(self):\n    return 2.0\ndef n(self):\n    return 3.0\nfractions.Fraction.k = m\n"
        "def f(x):\n    return x * fractions.Fraction(1).k()\n",
        "import fractions\ndef m(self):\n    return 2.0\ndef n(self):\n    return 3.0\nfractions.Fraction.k = n\n"
        "def f(x):\n    return x * fractions.Fraction(1).k()\n",
    ),
    "an attribute by a constant name": (
        "class C:\n    k = 2.0\ndef f(x):\n    return x * getattr(C, 'k')\n",
        "class C:\n    k = 3.0\ndef f(x):\n    return x * getattr(C, 'k')\n",
    ),
    "an attribute by a name of its own": (
        "class C:\n    k = 2.0\nN = 'k'\ndef f(x):\n    return x * getattr(C, N)\n",
        "class C:\n    k = 3.0\nN = 'k'\ndef f(x):\n    return x * getattr(C, N)\n",
    ),
    "the name of a class": (
        "class A:\n    pass\nA.__name__ = 'B'\ndef f(x):\n    return x + len(type(A()).__name__)\n",
        "class A:\n    pass\nA.__name__ = 'Bcd'\ndef f(x):\n    return x + len(type(A()).__name__)\n",
    ),
    "a number put into NumPy": (
        "np.own = np.float64(2)\ndef f(x):\n    return x * np.own\n",
        "np.own = np.float64(3)\ndef f(x):\n    return x * np.own\n",
    ),
    "a number put into a library's class": (
        "import fractions\nfractions.Fraction.own = 2.0\ndef f(x):\n    return x * fractions.Fraction.own\n",
        "import fractions\nfractions.Fraction.own = 3.0\ndef f(x):\n    return x * fractions.Fraction.own\n",
    ),
    "a function inside SciPy put in its place": (
        "import scipy.signal.windows._windows as w\ndef g(M, *a, **k):\n    return np.full(M, 2.0)\n"
        "w.general_hamming = g\nimport scipy.signal\ndef f(x):\n    return x * scipy.signal.windows.hann(6)\n",
        "import scipy.signal.windows._windows as w\ndef g(M, *a, **k):\n    return np.full(M, 3.0)\n"
        "w.general_hamming = g\nimport scipy.signal\ndef f(x):\n    return x * scipy.signal.windows.hann(6)\n",
    ),
    "the fields of a node of trees": (
        "import jax\nclass P:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n"
        "jax.tree_util.register_dataclass(P, data_fields=['a', 'b'], meta_fields=[])\ndef f(x):\n"
        "    return jax.tree.leaves(P(x, x * 3))[0] + 1\n",
        "import jax\nclass P:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n"
        "jax.tree_util.register_dataclass(P, data_fields=['b', 'a'], meta_fields=[])\ndef f(x):\n"
        "    return jax.tree.leaves(P(x, x * 3))[0] + 1\n",
    ),
    "how a node of trees is taken apart": (
        "import jax\nclass P:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n"
        "jax.tree_util.register_pytree_node(P, lambda p: ((p.a, p.b), None), lambda _, c: P(*c))\ndef f(x):\n"
        "    return jax.tree.leaves(P(x, x * 3))[0] + 1\n",
        "import jax\nclass P:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n"
        "jax.tree_util.register_pytree_node(P, lambda p: ((p.b, p.a), None), lambda _, c: P(*c))\ndef f(x):\n"
        "    return jax.tree.leaves(P(x, x * 3))[0] + 1\n",
    ),
    "the cause of an exception": (
        "E = ValueError('x')\nE.__cause__ = KeyError('a')\ndef f(x):\n    return x * len(E.__cause__.args[0])\n",
        "E = ValueError('x')\nE.__cause__ = KeyError('abc')\ndef f(x):\n"
        "    return x * len(E.__cause__.args[0])\n",
    ),
    "what an exception is about": (
        "E = AttributeError('x', name='a')\ndef f(x):\n    return x * len(E.name)\n",
        "E = AttributeError('x', name='abc')\ndef f(x):\n    return x * len(E.name)\n",
    ),
    "a set that is only asked": (
        "S = {'a', 'b', 'c'}\ndef f(x):\n    return x * 2 if 'b' in S else x\n",
        "S = {'a', 'd', 'c'}\ndef f(x):\n    return x * 2 if 'b' in S else x\n",
    ),
    "a set in the code that is only asked": (
        "def f(x, mode='a'):\n    return x * 2 if mode in {'a', 'b'} else x\n",
        "def f(x, mode='a'):\n    return x * 2 if mode in {'c', 'b'} else x\n",
    ),
}

NOT_CACHEABLE = {
    "time":
        "import time\ndef f(x):\n    return x * time.time()\n",
    "random numbers":
        "import random\ndef f(x):\n    return x * random.random()\n",
    "NumPy's random numbers":
        "def f(x):\n    return x * np.random.uniform()\n",
    "a generator of random numbers":
        "R = np.random.default_rng(0)\ndef f(x):\n    return x * R.uniform()\n",
    "the environment":
        "import os\ndef f(x):\n    return x * len(os.environ)\n",
    "a file":
        "def f(x):\n    return x * len(open(__file__).read())\n",
    "a file of NumPy's":
        "def f(x):\n    return x * np.load('nothing.npy')\n",
    "globals()":
        "K = 2.0\ndef f(x):\n    return x * globals()['K']\n",
    "eval":
        "K = 2.0\ndef f(x):\n    return x * eval('K')\n",
    "a module by a computed name":
        "import {other}\nN = 'K'\ndef f(x):\n    return x * getattr({other}, N)\n",
    "vars of a module":
        "import {other}\ndef f(x):\n    return x * vars({other})['K']\n",
    "a module's __dict__":
        "import {other}\ndef f(x):\n    return x * {other}.__dict__['K']\n",
    "a module with __getattr__":
        "import {other}\ndef f(x):\n    return x * {other}.later\n",
    "sys.modules":
        "import sys\ndef f(x):\n    return x * sys.modules[__name__].K\nK = 2.0\n",
    "an iterator outside":
        "I = iter([1.0, 2.0])\ndef f(x):\n    return x * 2.0 if I is not None else x\n",
    "what a class has below it":
        "class C:\n    pass\ndef f(x):\n    return x * len(C.__subclasses__())\n",
    "an identity":
        "K = []\ndef f(x):\n    return x * (id(K) % 2)\n",
    "a hash":
        "def f(x):\n    return x * (hash('a') % 7)\n",
    "an object that cannot be looked at":
        "class C:\n    @property\n    def __dict__(self):\n        raise RuntimeError('no')\nc = C()\n"
        "def f(x):\n    return x * 2 if c is not None else x\n",
    "a lock":
        "import threading\nL = threading.Lock()\ndef f(x):\n    with L:\n        return x * 2.0\n",
    "a frame":
        "import inspect\ndef f(x):\n    return x * len(inspect.stack())\n",
    "a counter that a trace moves on":
        "N = [0]\ndef f(x):\n    N[0] += 1\n    return x * N[0]\n",
    "printing":
        "def f(x):\n    print('f')\n    return x * 2.0\n",
    "results that a cache kept of before":
        "import functools\nK = 2.0\n@functools.lru_cache\ndef g(n):\n    return n + K\ng(1)\nK = 3.0\n"
        "def f(x):\n    return x * g(1)\n",
    "a memory in a function":
        "def g(x, memo={}):\n    if 'k' not in memo:\n        memo['k'] = 2.0\n    return memo['k']\n"
        "def f(x):\n    return x * g(1)\n",
    "the code of a function":
        "def g():\n    return 1\ndef f(x):\n    return x * len(g.__code__.co_code)\n",
    "today":
        "import datetime\ndef f(x):\n    return x * datetime.date.today().day\n",
    "a module by a computed name, by another name of getattr":
        "import {other}\nG = getattr\ndef f(x):\n    return x * G({other}, ''.join(['', 'K']))\n",
    "a module by a partial":
        "import {other}, functools\nG = functools.partial(getattr, {other})\ndef f(x):\n"
        "    return x * G(''.join(['', 'K']))\n",
    "vars of a module, by another name":
        "import {other}\nV = vars\ndef f(x):\n    return x * V({other})['K']\n",
    "a name in a format":
        "import {other}\ndef f(x):\n    return x * float('{0.K}'.format({other}))\n",
    "a module of a class of its own":
        "import types, sys\nclass M(types.ModuleType):\n    K = 2.0\nmine = M('mine')\ndef f(x):\n"
        "    return x * mine.K\n",
    "a hash by another name":
        "H = hash\ndef f(x):\n    return x * (H('a') % 7)\n",
    "a hash as a method":
        "def f(x):\n    return x * ('a'.__hash__() % 7)\n",
    "the order of a set":
        "S = {'a', 'bb', 'ccc'}\ndef f(x):\n    for each in S:\n        x = x * 2 + len(each)\n    return x\n",
    "the order of a set in the code":
        "def f(x):\n    for each in {'a', 'bb', 'ccc'}:\n        x = x * 2 + len(each)\n    return x\n",
    "the order of a set that is made":
        "N = ['a', 'bb', 'ccc']\ndef f(x):\n    for each in {n + 'q' for n in N}:\n"
        "        x = x * 2 + len(each)\n    return x\n",
    "the order of keys in common":
        "D = {'a': 1.0, 'bb': 2.0}\ndef f(x):\n    for each in D.keys() & ['a', 'bb']:\n"
        "        x = x * 2 + D[each]\n    return x\n",
    "the order of a set that grows":
        "def f(x):\n    found = set()\n    for each in ('a', 'bb', 'ccc'):\n        found.add(each)\n"
        "    for each in found:\n        x = x * 2 + len(each)\n    return x\n",
    "the random numbers of a distribution":
        "import statistics\nD = statistics.NormalDist(0, 1)\ndef f(x):\n    return x * D.samples(1)[0]\n",
    "where an array lies":
        "K = np.zeros(3)\ndef f(x):\n    return x * (K.ctypes.data % 3)\n",
    "where an array lies, by its interface":
        "K = np.zeros(3)\ndef f(x):\n    return x * (K.__array_interface__['data'][0] % 3)\n",
    "a file of jax's":
        "import jax.numpy as jnp\ndef f(x):\n    return x * jnp.load('nothing.npy')\n",
}
OTHER = "K = 2.0\ndef __getattr__(name):\n    return 3.0\n"

RESULTS = {
    "a tuple of views":
        "def f(x):\n    y = x * 2\n    return y, y[::2], (x, x[1:], {'a': y[:3]})\n",
    "an argument written":
        "def f(x):\n    x[1:] = x[:-1] * 2\n    return x.sum()\n",
    "an argument written and a view of it":
        "def f(x):\n    x *= 2\n    return x[::2]\n",
    "an argument transposed":
        "def f(x):\n    return np.exp(x.T) + 1, x.T\n\ndef arguments():\n"
        "    return (np.arange(300_000.0).reshape(600, 500) / 1e5,)\n",
    "lists and dicts that change":
        "def f(x, l, d):\n    l.append(x * 2)\n    d['b'] = l[0] + x\n    del d['a']\n    l[0] = x\n"
        "def arguments():\n    return np.arange(6.0), [np.ones(6)], {'a': np.zeros(2)}\n",
    "an object that changes":
        "class C:\n    def __init__(self):\n        self.x = np.arange(4.0)\n        self.n = 2\n"
        "    def step(self):\n        self.x = self.x * self.n\n        self.y = self.x.sum()\n"
        "        return self.y\ndef f(c):\n    return c.step()\ndef arguments():\n    return (C(),)\n",
    "an object that is returned":
        "class C:\n    def __init__(self, x):\n        self.x = x\n        self.k = 'text'\ndef f(x):\n"
        "    return C(x * 2)\n",
    "a named tuple":
        "import collections\nN = collections.namedtuple('N', 'a b')\ndef f(x):\n"
        "    return N(x * 2, 3)\n",
    "functions and classes":
        "class C:\n    pass\ndef g():\n    pass\ndef f(x):\n    return C, g, x * 2\n",
    "a global list":
        "L = [1, 2]\ndef f(x):\n    return L, x * 2\n",
    "an array that is known":
        "def f(x):\n    return np.arange(5) * 2, np.float32(3), 4, None, 'text', x + 1\n",
    "numbers":
        "def f(x, y, n):\n    return y * 2, n + 1, x.sum(), float(x[0]), int(x[1]), x.mean() > 1\n"
        "def arguments():\n    return np.arange(6.0), 2.5, 3\n",
    "a function as argument":
        "def g(x):\n    return x + 1\ndef f(h, x):\n    return h(x) * 2\ndef arguments():\n"
        "    return g, np.arange(3.0)\n",
    "big arrays":
        "def f(x):\n    return np.exp(x) * 2 + x[::-1], x.sum(axis=0)\n\ndef arguments():\n"
        "    return (np.arange(300_000.0).reshape(600, 500) / 1e5,)\n",
    "big arrays by XLA":
        "OPTIONS = {'native': 'never'}\ndef f(x):\n    return np.exp(x) * 2 + x[::-1], x.sum(axis=0)\n"
        "\ndef arguments():\n    return (np.arange(300_000.0).reshape(600, 500) / 1e5,)\n",
    "small arrays by XLA":
        "OPTIONS = {'native': 'never'}\ndef f(x):\n    return np.sin(x) * 2, x.sum()\n",
    "linear algebra":
        "def f(x):\n    a = x.reshape(2, 3)\n"
        "    return np.linalg.solve(a @ a.T + np.eye(2), np.ones(2)), a.T @ a\n",
    "a loop":
        "def f(x):\n    n = 0\n    while np.abs(x).max() > 0.1:\n        x = x * 0.5\n        n += 1\n"
        "    return x, n\n",
    "a loop over rows":
        "def f(x):\n    for i in range(1, 600):\n        x[i] = x[i - 1] * 0.5 + np.tanh(x[i])\n"
        "    return x[-1]\n\ndef arguments():\n"
        "    return (np.arange(300_000.0).reshape(600, 500) / 1e5,)\n",
    "sorting":
        "def f(x):\n"
        "    return np.sort(-x), np.argsort(-x), np.partition(-x, 2), np.argmax(x), np.unique(x // 2)\n"
        "OPTIONS = {'sized_results': True}\n",
    "masks":
        "def f(x):\n    return x[x > 2], np.nonzero(x > 1)[0], np.where(x > 1, x, 0)\n"
        "OPTIONS = {'sized_results': True}\n",
    "a list that grows":
        "def f(x):\n    out = []\n    for v in x:\n        if v > 2:\n            out.append(v * 2)\n"
        "    return out\nOPTIONS = {'sized_results': True}\n",
    "None or a value":
        "def f(x):\n    return x * 2 if x.sum() > 100 else None\n",
    "complex numbers":
        "def f(x):\n    z = x + 1j * x[::-1]\n    return np.fft.fft(z), z.real, np.abs(z)\n",
    "small floats":
        "def f(x):\n    y = x.astype(np.float16)\n"
        "    return y * 2, (x * 1e-320) * 0.5, x.astype(np.float32) / 3\n",
    "whole numbers":
        "def f(x):\n    y = x.astype(np.int32)\n"
        "    return y // 3, y % 3, y ** 2, y.astype(np.uint8) - 5, y > 2\n",
    "nothing":
        "def f(x):\n    return x[:0] * 2, x[:0].sum(), np.zeros((0, 3))\n",
    "NaN and zeros":
        "def f(x):\n    return np.log(x - 3), -x * 0.0, 1 / (x - 2)\n",
    "a large constant":
        "K = np.arange(20_000.0)\ndef f(x):\n    return K * 2 + x[1], K[::2].sum()\n",
    "keywords":
        "def f(x, *, k=2.0, flag=True):\n    return x * k if flag else x\n",
    "a method":
        "class C:\n    def __init__(self, k):\n        self.k = k\n    def m(self, x):\n"
        "        return x * self.k\nc = C(3.0)\nf = c.m\n",
    "by columns":
        "def f(x):\n    return x * 2 + 1, x.sum(axis=1)\ndef arguments():\n"
        "    return (np.asfortranarray(np.arange(12.0).reshape(3, 4)),)\n",
    "one array twice":
        "def f(x, y):\n    x += 1\n    return y * 2\ndef arguments():\n    x = np.arange(5.0)\n"
        "    return x, x\n",
    "threads":
        "def f(x):\n    return np.exp(np.sin(x) ** 2) / (1 + x * x)\ndef arguments():\n"
        "    return (np.arange(4e6) / 1e6,)\n",
    "a kernel":
        "def f(x):\n    out = np.zeros(6)\n    for i in range(6):\n        s = 0.0\n"
        "        for j in range(i):\n            s += x[j] * (i - j)\n        out[i] = s\n"
        "    return out\n",
    "an exception of one's own":
        "class Big(Exception):\n    pass\ndef g(x):\n    if x.sum() > 1e9:\n        raise Big('big')\n    return x\n"
        "def f(x):\n    return g(x) * 2\n",
    "sets of numbers":
        "def f(x):\n    for each in {3, 1, 2}:\n        x = x * 2 + each\n    return x * len(set(x.shape))\n",
    "a sum of SciPy's windows":
        "import scipy.signal\ndef f(x):\n    return x * scipy.signal.windows.hann(6)\n",
}
"""What programs give, and what they do to their arguments."""
