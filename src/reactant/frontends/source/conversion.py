"""Convert a Python function so that its control flow, calls, item access and in-place operators go through `ag__`.

The source of the function is parsed, lowered (`jumps`), outlined (`outlining`), its expressions are converted
(`expressions`), and the result is compiled under the user's own file name with the user's own line numbers: tracebacks,
debuggers and locations show the user's lines with no map to keep. The converted code runs in the original's globals and
shares its closure cells. Conversion happens once for each code object.

We do not use `diastatic-malt` here, because it refuses `match`, loop `else` and generators, evaluates the middle of
`a < f() < b` twice, and takes 40 to 130 ms a function where this takes 1 to 5.
"""
from __future__ import annotations
import __future__

import ast
import dis
import inspect
import itertools
import linecache
import os
import sysconfig
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any

import jax
import jaxlib
import numpy

from reactant.frontends.source.expressions import ExpressionConversion, mark_tests
from reactant.frontends.source.extending import ExtendLowering
from reactant.frontends.source.generators import PushLowering
from reactant.frontends.source.jumps import N, contains
from reactant.frontends.source.kept import kept_lines
from reactant.frontends.source.liveness import arguments_of
from reactant.frontends.source.match_statements import MatchLowering
from reactant.frontends.source.operators import ag__
from reactant.frontends.source.outlining import convert_function_body
from reactant.frontends.source.sourceless import NotFollowed, followed_code
from reactant.frontends.source.temporaries import Temporaries
from reactant.frontends.source.try_statements import SuppressLowering
from reactant.frontends.source.walrus import NamedLowering
from reactant.support.package import PACKAGE
from reactant.support.records import dataclass
from reactant.support.session import SESSION

_FUTURE_FLAGS = 0
for _feature in __future__.all_feature_names:
    _FUTURE_FLAGS |= getattr(__future__, _feature).compiler_flag
_ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
_LOOKS_AT_ITS_LOCALS = {"locals", "eval", "exec"}
_WITHOUT_ARGUMENTS = {"vars", "dir"}
_LOCK = threading.RLock()


class SourceUnavailable(Exception):
    """The text of a function cannot be found, or is not the text the function was made from."""


@dataclass(frozen=True)
class Conversion:
    """What became of one code object: `code` is None where it runs as it is, for `reason`. followed: the code that runs
    then, where it is not the original itself."""

    original: CodeType
    code: CodeType | None
    reason: str = ""
    followed: CodeType | None = None


_conversions: dict[tuple[int, bool, bool], Conversion] = {}
_made_here: dict[int, CodeType] = {}
_followed_here: set[int] = set()
_ALWAYS: set[CodeType] = set()
_OPERATORS_CELL = CellType(ag__)


# ---- what is converted -----------------------------------------------------------------------------------------

def _directories() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(directories whose code runs as it is, directories below those whose code is converted after all)."""
    paths = sysconfig.get_paths()
    packages = [str(Path(m.__file__).resolve().parent) for m in (numpy, jax, jaxlib)]
    excluded = {*packages, str(PACKAGE), paths["stdlib"], paths["platstdlib"], os.path.realpath(paths["stdlib"])}
    included = {paths["purelib"], paths["platlib"], str(PACKAGE / "demos"), str(Path(packages[0]) / "polynomial")}
    return tuple(p + os.sep for p in sorted(excluded)), tuple(p + os.sep for p in sorted(included))


_EXCLUDED, _INCLUDED = _directories()


@cache
def is_user_file(filename: str) -> bool:
    """Whether code of this file is the user's (or a library's that is treated as such): not NumPy's, JAX's, ours or
    the standard library's."""
    if filename.startswith("<frozen"):
        return False

    def longest(directories: tuple[str, ...]) -> int:
        return max((len(d) for d in directories if filename.startswith(d)), default=0)

    return longest(_EXCLUDED) <= longest(_INCLUDED)


def convert_always(function: FunctionType) -> None:
    """Convert a function of ours, or of Python's, whose lines are nobody's."""
    _ALWAYS.add(function.__code__)


def is_converted_always(code: CodeType) -> bool:
    return code in _ALWAYS


def convert(function: FunctionType, catching: bool = False, pushed: bool = False) -> FunctionType:
    """The converted function, with the original's globals, closure, defaults and attributes; the function itself where
    it runs as it is (`reason_unconverted` says why). `catching`: for a call inside a `try` with handlers; `pushed`: a
    generator that calls what takes its elements."""
    code = function.__code__
    if SESSION.followed is not None and not is_converted(code):
        SESSION.followed.add(code)
    known = _conversions.get((id(code), catching, pushed))
    if known is None:
        known = _convert_code(function, catching, pushed)
    return function if known.code is None else _with_code(function, known.code)


def followed(function: FunctionType) -> FunctionType:
    """The function with its calls and operators followed, where it runs as it is for want of its source; else the
    function itself."""
    known = _conversions.get((id(function.__code__), False, False)) \
        or _conversions.get((id(function.__code__), True, False))
    return function if known is None or known.followed is None else _with_code(function, known.followed)


def _with_code(function: FunctionType, code: CodeType) -> FunctionType:
    """A function that is another one but for its code."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells["ag__"] = _OPERATORS_CELL
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__,
                        tuple(cells[n] for n in code.co_freevars))
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
    made.__dict__.update(function.__dict__)
    return made


def is_converted(code: CodeType) -> bool:
    """Whether the code came out of a conversion."""
    return id(code) in _made_here


def reason_unconverted(code: CodeType) -> str:
    """Why the code of a function runs as it is; empty where it was converted or never met."""
    known = _conversions.get((id(code), False, False)) or _conversions.get((id(code), True, False))
    return known.reason if known is not None and known.code is None else ""


def has_jumps(code: CodeType) -> bool:
    """Whether the code, or a function inside it, takes a decision or loops."""
    jumps = set(dis.hasjrel) | set(dis.hasjabs)
    if any(i.opcode in jumps for i in dis.get_instructions(code)):
        return True
    return any(has_jumps(c) for c in code.co_consts if isinstance(c, CodeType))


def _convert_code(function: FunctionType, catching: bool, pushed: bool) -> Conversion:
    code = function.__code__
    key = id(code), catching, pushed
    with _LOCK:
        if key in _conversions:
            return _conversions[key]
        if is_converted(code) and not pushed:
            done = Conversion(code, None)
        elif not is_user_file(code.co_filename) and code not in _ALWAYS:
            done = Conversion(code, None, "it belongs to a library that runs as it is")
        elif code.co_flags & _ASYNC:
            done = Conversion(code, None, "it is asynchronous")
        else:
            try:
                done = Conversion(code, _converted_code(function, catching, pushed))
            except SourceUnavailable as problem:
                done = _without_source(function, str(problem))
        _conversions[key] = done
        return done


def _without_source(function: FunctionType, reason: str) -> Conversion:
    """What becomes of code that cannot be converted for want of its source."""
    code, module = function.__code__, function.__globals__.get("__name__")
    if code.co_qualname.startswith("__create_fn__") or str(module).startswith("namedtuple_"):
        return Conversion(code, None, reason)       # Python's own: they hold what they are given, and decide nothing
    try:
        made = followed_code(code)
    except NotFollowed as problem:
        return Conversion(code, None, f"{reason}, and {problem}")
    _followed_here.add(id(made))
    _conversions[id(made), False, False] = Conversion(made, None, reason)      # which keeps it
    return Conversion(code, None, reason, made)


def is_followed(code: CodeType) -> bool:
    """Whether it is the code that runs in the place of a function without source."""
    return id(code) in _followed_here


# ---- making the code -------------------------------------------------------------------------------------------

def _converted_code(function: FunctionType, catching: bool, pushed: bool) -> CodeType:
    code = function.__code__
    node = _with_warnings_off(lambda: function_node(function))
    node.decorator_list, node.returns = [], None
    node.args.defaults = [ast.copy_location(ast.Constant(None), d) for d in node.args.defaults]
    node.args.kw_defaults = [d and ast.copy_location(ast.Constant(None), d) for d in node.args.kw_defaults]
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    node.type_params = []
    class_name = enclosing_class(code.co_qualname)
    if class_name is not None:
        _Mangling(class_name).visit(node)
    node = SuppressLowering(function.__globals__).visit(_ExplicitSuper().visit(node))
    namer = itertools.count(1)
    if pushed:
        node = PushLowering(namer).function(node)
    mark_tests(node)
    node = NamedLowering(namer).visit(MatchLowering(namer).visit(node))
    checked: frozenset[str] = frozenset()
    looked_at = _uses_locals(node)
    if not looked_at:
        checked = convert_function_body(ExtendLowering(namer).visit(node), namer, catching)
    node = ExpressionConversion(checked, namer).visit(node)
    return _compiled(Temporaries(says_cells=not looked_at).visit(node), code)


def _uses_locals(node: ast.FunctionDef) -> bool:
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and (
        n.func.id in _LOOKS_AT_ITS_LOCALS or n.func.id in _WITHOUT_ARGUMENTS and not n.args) for n in ast.walk(node))


def _compiled(node: ast.FunctionDef, original: CodeType) -> CodeType:
    """The code object of `node`, inside a factory that gives it the original's free variables and `ag__`."""
    node.name = "ag__function"  # a name of its own: the factory must not capture the global or cell of the function
    free = [n for n in dict.fromkeys((*original.co_freevars, "ag__")) if n.isidentifier()]
    binding = ast.Assign([ast.Name(n, ast.Store()) for n in free], ast.Constant(None))
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    factory = ast.FunctionDef(name="ag__factory", args=nothing, body=[binding, node], decorator_list=[])
    factory.type_params = []
    module = ast.fix_missing_locations(ast.copy_location(ast.Module([ast.copy_location(factory, node)], []), node))
    whole = _with_warnings_off(lambda: compile(module, original.co_filename, "exec",
                                               flags=original.co_flags & _FUTURE_FLAGS, dont_inherit=True))
    made_factory = next(c for c in whole.co_consts if isinstance(c, CodeType))
    made = next(c for c in made_factory.co_consts if isinstance(c, CodeType) and c.co_name == node.name)
    return _renamed(made.replace(co_name=original.co_name), made.co_qualname, original.co_qualname)


def _renamed(code: CodeType, old: str, new: str) -> CodeType:
    """The code with its qualified names as in the source, remembered as made here."""
    inner = tuple(_renamed(c, old, new) if isinstance(c, CodeType) else c for c in code.co_consts)
    made = code.replace(co_consts=inner, co_qualname=new + code.co_qualname.removeprefix(old))
    _made_here[id(made)] = made
    return made


def _with_warnings_off(work: Callable[[], Any]) -> Any:
    """Python warned about the source when it was imported; not twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def enclosing_class(qualified_name: str) -> str | None:
    """The class whose body holds the function: 'C' for 'm.<locals>.C.f' and for 'C.f.<locals>.g'."""
    parts = qualified_name.split(".")[:-1]
    while parts:
        if parts[-1] != "<locals>":
            return parts[-1]
        parts = parts[:-2]
    return None


class _Mangling(ast.NodeTransformer):
    """`__name` inside a class means `_Class__name`; the compiler no longer sees the class, so it is done here."""

    def __init__(self, class_name: str) -> None:
        self.prefix = "_" + class_name.lstrip("_") if class_name.lstrip("_") else ""

    def mangled(self, identifier: str) -> str:
        if not identifier.startswith("__") or identifier.endswith("__") or "." in identifier:
            return identifier
        return self.prefix + identifier

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "attr", "arg", "name", "rest", "asname"):
            if isinstance(getattr(node, field, None), str) and not (field == "name" and isinstance(node, ast.alias)):
                setattr(node, field, self.mangled(getattr(node, field)))
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            node.names = [self.mangled(n) for n in node.names]
        return super().generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.mangled(node.name)
        return node


class _ExplicitSuper(ast.NodeTransformer):
    """`super()` reads its frame; inside an outlined block that is another one: say `super(__class__, self)`."""

    def __init__(self) -> None:
        self.first: str | None = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer, self.first = self.first, next(iter(arguments_of(node.args)), None)
        self.generic_visit(node)
        self.first = outer
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        bare = isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and not node.keywords
        if bare and self.first is not None:
            node.args = [ast.copy_location(ast.Name(n, ast.Load()), node) for n in ("__class__", self.first)]
        return node


# ---- finding the source ----------------------------------------------------------------------------------------

def function_node(function: FunctionType) -> ast.FunctionDef:
    """The syntax tree of a function, lines numbered as in its file; a lambda becomes a `def` of one `return`."""
    code = function.__code__
    if code.co_filename in ("<string>", "<stdin>"):
        lines = kept_lines(code)    # from Python 3.13 on `linecache` has those of `python -c`, and `exec` has others
    else:
        lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines or code.co_firstlineno > len(lines):
        raise SourceUnavailable(f"the source of '{code.co_name}' cannot be found (it was made in "
                                f"{code.co_filename!r})")
    node = _lambda_node(code, lines) if code.co_name == "<lambda>" else _definition_node(code, lines)
    parameters = code.co_argcount + code.co_kwonlyargcount
    parameters += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    plain = [n for n in arguments_of(node.args)]
    expected = code.co_varnames[:parameters]
    if len(plain) != parameters or any(not e.endswith(p) for p, e in zip(plain, expected, strict=True)):
        raise SourceUnavailable(f"the source of '{code.co_name}' in {code.co_filename} changed after it was loaded: "
                                "load it again")
    return node


def _definition_node(code: CodeType, lines: list[str]) -> ast.FunctionDef:
    first = code.co_firstlineno
    text = _block_text(lines, first, max(_lines_of(code), default=first))
    indented = text[:1].isspace()
    try:
        body = ast.parse("if 1:\n" + text).body[0].body if indented else ast.parse(text).body
        node: Any = body[0]
        ast.increment_lineno(node, first - (2 if indented else 1))
        if _is_definition(node, code):
            return node
    except SyntaxError:
        pass  # a string or bracket whose lines are not indented: look in the whole file
    for node in ast.walk(_file_tree(code.co_filename, "".join(lines))):
        if isinstance(node, ast.FunctionDef) and _first_line(node) == first and _is_definition(node, code):
            return _copied(node)
    raise SourceUnavailable(f"the source of '{code.co_name}' in {code.co_filename} changed after it was loaded: "
                            "load it again")


def _is_definition(node: ast.AST, code: CodeType) -> bool:
    if not isinstance(node, ast.FunctionDef) or not code.co_name.endswith(node.name):
        return False
    suspends = contains(node.body, (ast.Yield, ast.YieldFrom))
    return suspends == bool(code.co_flags & inspect.CO_GENERATOR)


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _lines_of(code: CodeType) -> Iterator[int]:
    yield from (line for *_, line in code.co_lines() if line is not None)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _lines_of(inner)


def _block_text(lines: list[str], first: int, last: int) -> str:
    """The lines from `first` that are indented deeper than it, and at least up to `last` (the last one with code)."""
    margin = len(lines[first - 1]) - len(lines[first - 1].lstrip())
    end = max(first, last)
    for line in lines[end:]:
        stripped = line.strip()
        if stripped and not stripped.startswith("#") and len(line) - len(line.lstrip()) <= margin:
            break
        end += 1
    return "".join(lines[first - 1:end])


_trees: dict[str, tuple[int, ast.Module]] = {}


def _file_tree(filename: str, text: str) -> ast.Module:
    known = _trees.get(filename)
    if known is None or known[0] != hash(text):
        try:
            known = _trees[filename] = hash(text), ast.parse(text)
        except SyntaxError as problem:
            raise SourceUnavailable(f"the source in {filename} cannot be parsed: {problem}") from None
    return known[1]


def _copied(node: N) -> N:
    """A copy that the conversion may change, the cached tree of the file staying as it is."""
    fields = {}
    for field, value in ast.iter_fields(node):
        if isinstance(value, list):
            value = [_copied(v) if isinstance(v, ast.AST) else v for v in value]
        elif isinstance(value, ast.AST):
            value = _copied(value)
        fields[field] = value
    return ast.copy_location(type(node)(**fields), node)


def _lambda_node(code: CodeType, lines: list[str]) -> ast.FunctionDef:
    """Lambdas are told apart by the columns of their bodies, so several may share a line."""
    tree = _file_tree(code.co_filename, "".join(lines))
    places = [(p[0], p[2]) for p in code.co_positions() if p[0] is not None and p[2] is not None and p[3] != p[2]]
    candidates = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and node.lineno <= code.co_firstlineno <= node.body.end_lineno:
            begin = (node.body.lineno, node.body.col_offset)
            end = (node.body.end_lineno, node.body.end_col_offset)
            if all(begin <= place < end for place in places) and arguments_of(node.args) == list(
                    code.co_varnames[:len(arguments_of(node.args))]):
                candidates.append((begin, node))
    if not candidates:
        raise SourceUnavailable(f"the source of a lambda in {code.co_filename}:{code.co_firstlineno} changed after it "
                                "was loaded: load it again")
    if len(candidates) > 1 and not places:
        raise SourceUnavailable(f"several lambdas in {code.co_filename}:{code.co_firstlineno} cannot be told apart "
                                "without column numbers: use `def`, or one line for each")
    found = _copied(max(candidates, key=lambda c: c[0])[1])  # the innermost of those that hold every place
    body = [ast.copy_location(ast.Return(found.body), found.body)]
    return ast.copy_location(ast.FunctionDef(name="<lambda>", args=found.args, body=body, decorator_list=[]), found)
