"""Tokens of C++, on text that is easily misread."""
import pytest

from reactant.kernels.ways_in.cxx_tokens import (
    after_angles,
    launches,
    partners,
    tokens,
    with_launches_joined,
    with_managed_alone,
)

NASTY = {
    'a // b "c\nd': ["a", "d"],
    'a // b \\\n c\nd': ["a", "d"],
    "a /* ' \" // */ b": ["a", "b"],
    "a /* never closed": ["a"],
    '"/* no */" x': ['"/* no */"', "x"],
    r'"\"{" y': [r'"\"{"', "y"],
    "'\\'' '{' L'x'": ["'\\''", "'{'", "L'x'"],
    "1'000'000 + 'a'": ["1'000'000", "+", "'a'"],
    "0x1.8p-3f 1e+5 .5 1..2": ["0x1.8p-3f", "1e+5", ".5", "1..2"],
    'R"x( )" }" )x" z': ['R"x( )" }" )x"', "z"],
    'u8R"(\n#if\n)" z': ['u8R"(\n#if\n)"', "z"],
    '#define A "x \\\n { y\nb': ['#define A "x \\\n { y', "b"],
    "  # pragma once\nb # c": ["# pragma once", "b", "#", "c"],
    "/* x */ # if 1\n": ["# if 1"],
    "a::b->c": ["a", "::", "b", "->", "c"],
    '"not closed\nb': ['"', "not", "closed", "b"],
    "größe $x _y": ["größe", "$", "x", "_y"],
}


@pytest.mark.parametrize("text", NASTY)
def test_tokens(text):
    found = list(tokens(text))
    assert [t.text for t in found] == NASTY[text]
    assert all(text[t.start:t.end] == t.text for t in found)


def test_partners_pass_over_what_nothing_opened():
    found = list(tokens("( [ ) } { x ]"))
    assert partners(found) == {0: 2, 2: 0}


def test_angles():
    found = list(tokens("a<b<(c > d)>, e[f > g]> h; x < y;"))
    pairs = partners(found)
    assert found[after_angles(found, pairs, 1)].text == "h"
    less = next(k for k, t in enumerate(found) if t.text == "x") + 1
    assert after_angles(found, pairs, less) == less


JOINED = {
    "k << < g, b >> > (x)": "k <<<  g, b >>>  (x)",
    "k< < <1, 2> > >(x)": "k<<<  1, 2>>>  (x)",
    "k<<<1,\n2\n>>\n>(x)": "k<<<1,\n2\n>>>\n(x)",
    "k<<<f(a >> 2), b[c > d]>> >(x)": "k<<<f(a >> 2), b[c > d]>>> (x)",
    "#define L(k, n) k << < n, 1 >> > (n)\n": "#define L(k, n) k <<<  n, 1 >>>  (n)\n",
    "a << b >> c; d<e<f> > (g); h<i<j<k>>>(l)": None,
    '"k << < g, b >> > (x)" // k << < g, b >> > (x)': None,
}


@pytest.mark.parametrize("text", JOINED)
def test_launches_joined(text):
    assert with_launches_joined(text) == (JOINED[text] or text)


def test_launches():
    found = list(tokens("k<float><<<1, 2>>>(x); a << 3;"))
    assert [(found[a].start, found[b].start) for a, b in launches(found, partners(found))] == [(8, 15)]


MANAGED = {
    "__device__ __managed__ int n;": "           __managed__ int n;",
    "static __managed__ __device__ float x[2];": "       __managed__            float x[2];",
    "#define BOTH __device__ __managed__\nBOTH int n; __device__ int m;":
        "#define BOTH            __managed__\nBOTH int n; __device__ int m;",
    "__device__ int m; // __device__ __managed__": None,
    "template <int N> __device__ int f(); __managed__ int n;": None,
}


@pytest.mark.parametrize("text", MANAGED)
def test_managed_alone(text):
    assert with_managed_alone(text) == (MANAGED[text] or text)
