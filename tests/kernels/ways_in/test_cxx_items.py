"""Items of C++ text: kinds, bodies, whose code."""
import pytest

from reactant.kernels.ways_in.cxx_items import enclosing, items_of
from reactant.kernels.ways_in.cxx_tokens import tokens

KERNEL = "__attribute__((global))"
ONE = {
    "int f(int x) { return 1; }": ("function", "{ return 1; }", False),
    "template <class T, int N = X<3>{}> struct V { T d[N]; };": ("class", None, False),
    "template <class T> auto f(T t) -> std::vector<T> requires C<T> { return {}; }": ("function", "{ return {}; }",
                                                                                      False),
    "enum class E : int { A, B };": ("other", None, False),
    "auto lam = [](int i) { return i; };": ("other", None, False),
    "int arr[] = {1, 2};": ("other", None, False),
    "static std::vector<int> v(10, 2), w{1};": ("other", None, False),
    "TEST(foo, bar) { EXPECT(1); }": ("function", "{ EXPECT(1); }", False),
    "template <> int spec<int>(int) { }": ("function", "{ }", False),
    "struct P *g(int a) { }": ("function", "{ }", False),
    "typedef struct { int a; } X;": ("class", None, False),
    "int main() try { } catch (const E &e) { f(); } catch (...) { }": ("function", "{ }", False),
    "void (*fp)(int) = nullptr;": ("other", None, False),
    "bool operator==(A a, B b) { return 1; }": ("function", "{ return 1; }", False),
    "void S::operator()(int i) const { }": ("function", "{ }", False),
    "A::A(int q) : a{q}, b(1) { hi(); }": ("function", "{ hi(); }", False),
    f'extern "C" {KERNEL} void k(float *x) {{ }}': ("function", "{ }", True),
    f"{KERNEL} __attribute__((launch_bounds(256))) void k(float *x) {{ }}": ("function", "{ }", True),
    "__attribute__((constant)) float c[3] = {1, 2, 3};": ("other", None, True),
    "struct S { int a; __attribute__((device)) int g() const { return 1; } } s;": ("class", None, True),
    "{ stray }": ("other", None, False),
    "int last(int a": ("other", None, False),
}


@pytest.mark.parametrize("text", ONE)
def test_one_item(text):
    for whole in (text, f"int before;\n{text}\nint after;"):
        if "last" in text and whole != text:
            continue
        items = items_of(list(tokens(whole)))
        item = enclosing(items, whole.index(text))
        assert len(items) == (1 if whole == text else 3)
        assert whole[item.start:item.end] == text
        body = None if item.body is None else whole[slice(*item.body)]
        assert (item.kind, body, item.device) == ONE[text]


def test_namespaces_and_members():
    text = """
    namespace a { inline namespace b [[x]] { struct S : T<int> { private: int n{3}; S() : n(1) {} static int k; }; } }
    extern "C" { int q; extern "C++" void r(); }
    MACRO(foo)
    template void launch<float>(float *);
    """
    items = items_of(list(tokens(text)))
    assert [text[i.start:i.end].split()[0] for i in items] == ["struct", "int", 'extern', "MACRO(foo)", "template"]
    assert [text[m.start:m.end] for m in items[0].members] == ["int n{3};", "S() : n(1) {}", "static int k;"]
    assert all(m.outermost is items[0] for m in items[0].members)
    assert [i.is_instantiation for i in items] == [False] * 4 + [True]
    assert enclosing(items, text.index("n(1)")).body is not None
