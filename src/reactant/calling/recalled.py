"""Compiled programs in the compile cache: what is written down of one, and one made of that in another process.

Nothing of the compiler is loaded here. A program out of the cache has no module and no errors of its checks: who looks
at it, and a run in which a check fails, has the function traced after all.
"""
from __future__ import annotations

import contextlib
import hashlib
import linecache
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reactant.cache import encoding, environment, purity, store
from reactant.cache.code_objects import with_inner
from reactant.cache.walk import NotCacheable, Walk
from reactant.calling import reached
from reactant.calling import signature as sig
from reactant.calling.traced import Traced
from reactant.errors import ReactantError
from reactant.precision import left_alone
from reactant.runtime.jax_internals import plain_context
from reactant.runtime.program import Body, Variant
from reactant.support import foreign
from reactant.support.attributes import attributes
from reactant.support.session import SESSION, Called, InFile, Unnoted, Unordered, collecting_later

if TYPE_CHECKING:
    from reactant.calling.compiled import Compiled
    from reactant.runtime.executable import Executable

FORM = 2
"""Another number where what is written down changes."""
REASONS: dict[str, str] = {}
"""Why programs were not kept, by the name of the function."""
_WARNED: list[bool] = []
COUNTS = {"found": 0, "missed": 0, "kept": 0, "not cacheable": 0}
"""What this process has done with the cache."""


# ---- what a program depends on ---------------------------------------------------------------------------------

class Question:
    """What is asked of the cache for one signature of a function: the key, and what it was made of."""

    def __init__(self, jitted: Any, key: tuple):
        self.place = _place(jitted)
        self.name = _name(jitted)
        self._jitted, self._signature = jitted, key
        self._lowered: Any = None
        self.environment = environment.fingerprint()
        self.walk, self.digest = self._walked()
        told = f"{FORM} {self.environment} {self.digest}"
        self.key = hashlib.blake2b(told.encode(), digest_size=20).hexdigest()

    def _walked(self, again: bool = False) -> tuple[Walk, str]:
        made = Walk(again)
        options = [(name, value) for name, value in sorted(vars(self._jitted.options).items())]
        left = left_alone.told() if self._jitted.options.floats else None
        return made, made.of(self._jitted, options, _context(), left, *self._described())

    def _described(self) -> tuple:
        """What the signature says, as values that can be told."""
        positional, keyword, device, x64 = self._signature
        return positional, keyword, repr(device), x64, self._jitted._room.get(self._signature)

    @property
    def options(self) -> Any:
        """The options that the program was made with."""
        return self._jitted.options_for(self._signature)

    def lowered(self) -> Any:
        """The program, made after all."""
        if self._lowered is None:
            self._lowered = self._jitted._lower(self._signature, keep=True)
        return self._lowered

    def is_as_it_was(self) -> bool:
        """Whether everything has the values that it had."""
        return self._walked(again=True)[1] == self.digest and environment.fingerprint() == self.environment


def _context() -> tuple:
    """The settings of jax that a context says, or a mesh around the call, say."""
    if (found := plain_context()) is None:
        raise NotCacheable("it is called in a context of jax's that is not told (a mesh, axes with names)")
    return found


def asked(jitted: Any, key: tuple, ask: Callable[[], Question] | None = None) -> Question | None:
    """The question for a call, or None where its program is not kept in the cache. ask: makes it."""
    clocks = sys.modules.get("reactant.native.clocks")
    if not jitted.options.cache or store.is_off() or clocks is not None and clocks.recording():
        return None         # code that is measured is other code
    try:
        store.usable()
    except store.CacheError as error:
        if not _WARNED:
            _WARNED.append(True)
            warnings.warn(f"{error} Programs are compiled without it.", stacklevel=5)
        return None
    reached.learn_kernels()
    try:
        return question_of(jitted, key) if ask is None else ask()
    except NotCacheable as reason:
        refuse(_name(jitted), str(reason), _place(jitted))
    return None


def question_of(jitted: Any, key: tuple) -> Question:
    """The question for a signature of a NumPy function. Raises `NotCacheable`."""
    require_usual(jitted)
    if sig.is_spread((*key[0], *(node for _, node in key[1]))):
        raise NotCacheable("it runs on a mesh")
    return Question(jitted, key)


def require_usual(jitted: Any) -> None:
    """Raise `NotCacheable` where something else than the function says what its program becomes."""
    if foreign.DECLARED:
        raise NotCacheable(f"{foreign.DECLARED[0]} declares what programs become")
    if jitted.options.mesh is not None or jitted.options.shard is not None:
        raise NotCacheable("it runs on a mesh")
    if jitted.options.target is not None:
        raise NotCacheable("its target is told")


def made(jitted: Any, key: tuple, anew: Callable[[], Any], form: Form | None = None,
         ask: Callable[[], Question] | None = None) -> Any:
    """What `anew` makes for a signature: out of the cache, or made and kept there. form: what that is; a program if
    None. ask: makes the question."""
    form = form or PROGRAM
    with collecting_later():            # a collection of all that is loaded takes longer than this
        question = asked(jitted, key, ask)
        if question is not None and (found := recalled(question, form)) is not None:
            return found
    if question is None:
        return anew()
    with following() as followed:
        compiled = anew()
    keep(question, compiled, followed, form)
    return compiled


def explained(jitted: Any, args: tuple, kwargs: dict, make: Callable[[], Compiled]) -> tuple[Compiled, str]:
    """What `make` compiles for arguments, and why the cache does not keep it; nothing where it does, or is off."""
    if not jitted.options.cache or store.is_off():
        return make(), ""
    reached.learn_kernels()
    try:
        question, form = jitted.asked(args, kwargs)
    except NotCacheable as reason:
        return make(), str(reason)
    with following() as followed:
        made = make()
    try:
        _written(question, made, followed, form)
    except NotCacheable as reason:
        return made, str(reason)
    return made, ""


def _name(jitted: Any) -> str:
    """The name of a function; partials and objects that are called have none."""
    found = getattr(jitted, "__name__", None) or getattr(jitted.function, "__name__", None)
    return found if isinstance(found, str) else type(jitted.function).__name__


def _place(jitted: Any) -> str:
    """A function and its file, as reasons tell them."""
    function = getattr(jitted.function, "func", jitted.function)
    code = getattr(function, "__code__", None) or getattr(vars(type(function)).get("__call__"), "__code__", None)
    name = getattr(jitted, "__qualname__", None) or _name(jitted)
    return str(name) if code is None else f"{name} ({code.co_filename})"


@contextlib.contextmanager
def following() -> Iterator[set[Any]]:
    """Note what a trace calls inside."""
    before, SESSION.followed = SESSION.followed, set()
    try:
        yield SESSION.followed
    finally:
        SESSION.followed = before


def refuse(name: str, reason: str, place: str) -> None:
    """Note why a program is not kept. place: the function and its file."""
    COUNTS["not cacheable"] += 1
    if REASONS.get(name) != reason:
        REASONS[name] = reason
        with contextlib.suppress(store.CacheError):
            store.note_reason(place, reason)


# ---- what is written down --------------------------------------------------------------------------------------

encoding.register("reactant.calling.traced", Result="index kind steps layout", OfArgument="number steps", Known="value",
                  Maybe="defined value", Sized="frame parts", Places="mask shape dimension", Rows="count element")
encoding.register("reactant.calling.changes", Change="put gone whole only_attributes")
encoding.register("reactant.calling.signature", Same="path", Attribute="str")
encoding.register("reactant.runtime.program", Array="shape dtype", Variant="borrowed recycled donated")
encoding.register("reactant.native.argument", Argument="dtype shape role")
encoding.register("reactant.native.steps", Made="slot shape dtype source", Over="result argument made")
encoding.register("reactant.frontends.arrays.view_steps", SliceStep="starts shape steps",
                  TransposeStep="permutation shape", ReshapeStep="shape new_strides", GatheredStep="shape new_strides",
                  BroadcastStep="shape dimensions", DiagonalStep="offset shape writable", ComplexPartStep="part shape")

_TRACED = ("result", "written", "updates", "written_copies", "captured", "flags", "told", "untouched", "unloaded",
           "given", "remarks", "laid")
_BODY = ("bytecode", "name", "inputs", "outputs", "weak", "source", "native", "general", "workspace", "as_jax",
         "prelude")
MOST_CAPTURED = 64 << 20
"""Bytes of arrays from outside that are written down."""


class Form:
    """What is made for a question: how it is written down, and made of that. This one: a program."""

    def told(self, made: Any) -> tuple:
        """What is written down. Raises `NotCacheable`."""
        return state_of(made)

    def made(self, question: Question, state: tuple) -> Any:
        """What was written down, made again. Raises whatever comes of a state that is none."""
        return program_of(question, state)

    def bodies(self, made: Any) -> Iterator[Body]:
        """The modules in it, in order."""
        yield made.executable._body


PROGRAM = Form()


def keep(question: Question, compiled: Any, followed: set[Any], form: Form = PROGRAM) -> None:
    """Keep what was made for this question, if nothing speaks against it. followed: what its trace called."""
    try:
        content = _written(question, compiled, followed, form)
    except NotCacheable as reason:
        return refuse(question.name, str(reason), question.place)
    except Exception as error:
        return refuse(question.name, f"it cannot be written down ({type(error).__name__}: {error})", question.place)
    with contextlib.suppress(store.CacheError):         # its folder was not as it is when the call began
        if store.write(question.key, content):
            COUNTS["kept"] += 1
            for part, body in enumerate(form.bodies(compiled)):
                object.__setattr__(body, "kept", Forms(question.key, part))
            store.note_reason(question.place, None)


def _written(question: Question, compiled: Any, followed: set[Any], form: Form) -> bytes:
    told = form.told(compiled)
    _require_followed(question.walk, followed)
    _require_source(followed)
    if not question.is_as_it_was():
        raise NotCacheable("tracing it has changed what it depends on")
    return encoding.encoded(told, question.walk, _opened)


def state_of(compiled: Compiled) -> tuple:
    """What makes up a program. Raises `NotCacheable`."""
    if getattr(compiled, "_traced", None) is None:
        raise NotCacheable("JAX takes the derivative")
    traced, lowered = compiled._traced, compiled.lowered
    if compiled.passing or lowered.placement is not None:
        raise NotCacheable("it is for one call, or runs on a mesh")
    if traced.callbacks or traced.spoken is not None:
        raise NotCacheable("it prints, or calls Python while it runs")
    if sum(array.nbytes for array in traced.captured) > MOST_CAPTURED:
        raise NotCacheable(f"it reads more than {MOST_CAPTURED >> 20} MB of arrays from outside")
    return (tuple(getattr(traced, name) for name in _TRACED), executable_told(compiled.executable), lowered.name,
            lowered.on_device, tuple(lowered.notes))


def executable_told(executable: Any) -> tuple:
    """What makes up an `Executable`. Raises `NotCacheable`."""
    from reactant.calling import kept_code
    body, *how, straight = executable.told()
    return tuple(getattr(body, name) for name in _BODY), tuple(how), *kept_code.told(body, straight)


def _require_followed(made: Walk, followed: set[Any]) -> None:
    """Raise where a trace has called what the walk has not met."""
    for each in followed:
        if isinstance(each, Unordered):
            raise NotCacheable("it makes a set, whose order differs from process to process")
        if isinstance(each, Unnoted):
            raise NotCacheable("it calls what cannot be noted: under a profiler, or in a kernel without source")
        if isinstance(each, InFile):
            if not purity.is_library_file(each.file) and not any(map(each.is_of, made.codes)):
                raise NotCacheable(f"its kernel calls what is at {each.file}:{each.line}, which was not found among "
                                   "what it can reach")
            continue
        if type(each) is tuple:         # of no file: data classes and named tuples write methods
            each, module = each
            if purity.is_pure_module(str(module)) or str(module).startswith("namedtuple_"):
                continue
        if isinstance(each, Called):
            each = each.function
            if isinstance(each, types.FunctionType):
                each = each.__code__
            elif isinstance(each, (types.BuiltinFunctionType, type)):
                if purity.is_impure(each.__module__ or "builtins", each.__name__) \
                        and made.number_of(each) is None and each.__module__ != "__main__":
                    raise NotCacheable(f"it calls {each.__module__}.{each.__qualname__} while it is traced")
                continue
            else:
                continue
        if each not in made.codes and not purity.is_library_file(each.co_filename):
            raise NotCacheable(f"it calls {each.co_name} ({each.co_filename}:{each.co_firstlineno}), which was not "
                               "found among what it can reach")


def _require_source(followed: set[Any]) -> None:
    """Raise where a file is no longer what the code in it was made of: a trace reads the text, the key has the code."""
    files: dict[str, list[types.CodeType]] = {}
    for each in followed:
        if isinstance(each, types.CodeType) and not purity.is_library_file(each.co_filename):
            files.setdefault(each.co_filename, []).append(each)
    for name, codes in files.items():
        lines = linecache.getlines(name)
        if not lines:
            continue            # runs as it is: there is no text to trace
        try:
            whole = compile("".join(lines), name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            whole = None
        found = set() if whole is None else set(with_inner(whole))
        if other := next((code for code in codes if code not in found), None):
            raise NotCacheable(f"the source of {other.co_name} in {name} is not what its code was made of")


def _opened(x: Any) -> tuple[Any, list] | None:
    """A user's object as its class and what is in it."""
    if sig.is_named_tuple(x) and not sig.named_tuples.beside(x):
        return type(x), list(x)
    if sig.is_plain_object(x):
        return type(x), [(str(name), value) for name, value in attributes(x).items()]
    return None


def _rebuilt(cls: type, parts: list) -> Any:
    if issubclass(cls, tuple):
        return sig.named_tuples.make(cls, parts, (), [])
    made = sig.empty_object(cls)
    for name, value in parts:
        object.__setattr__(made, name, value)
    return made


class Forms:
    """The executables of a body, in files of their own."""

    def __init__(self, key: str, part: int = 0):
        self.key, self.part = key, part

    def _name(self, variant: Variant, options: Mapping[str, Any]) -> str:
        told = f"{FORM} {self.key} {self.part} {variant!r} {sorted(options.items())}"
        return hashlib.blake2b(told.encode(), digest_size=20).hexdigest()

    def find(self, variant: Variant, options: Mapping[str, Any]) -> bytes | None:
        """The executable of a form, if it is there."""
        try:
            return store.read(self._name(variant, options))
        except ReactantError:
            return None

    def keep(self, variant: Variant, options: Mapping[str, Any], data: bytes) -> None:
        """Keep an executable."""
        with contextlib.suppress(store.CacheError):
            store.write(self._name(variant, options), data)


# ---- in another process ----------------------------------------------------------------------------------------

def recalled(question: Question, form: Form = PROGRAM) -> Any:
    """What the cache has for this question, or None."""
    try:
        content = store.read(question.key)
    except store.CacheError:
        content = None
    if content is not None:
        try:
            made = form.made(question, encoding.decoded(content, question.walk.objects, _rebuilt))
        except Exception:       # what is wrong with it, and where, is all the same: it is made again
            store.drop(question.key)
        else:
            if made is not None:
                COUNTS["found"] += 1
                return made
    COUNTS["missed"] += 1
    return None


def program_of(question: Question, state: tuple, part: int = 0, executable: Executable | None = None) -> Compiled:
    """A program of what `state_of` gave. executable: the one of such a program."""
    def lowered(traced: Traced, name: str, on_device: bool, notes: Sequence[str]) -> RecalledLowered:
        return RecalledLowered(question, name, traced, on_device, notes)
    return compiled_of(state, lowered, lambda count: _Errors(question, count), Forms(question.key, part), executable)


def compiled_of(state: tuple, lowered: Callable[..., Any], errors: Callable[[int], Any], forms: Any,
                executable: Executable | None = None) -> Compiled:
    """A program of what `state_of` gave. lowered: makes what is before XLA. errors: what so many checks raise. forms:
    where executables are looked up. executable: the one of such a program. Raises what comes of a state that is none.
    """
    from reactant.calling.compiled import Compiled
    told, of_executable, name, on_device, notes = state
    traced = Traced(None, **dict(zip(_TRACED, told, strict=True)))      # type: ignore[arg-type]
    traced.errors = errors(len(traced.told))
    if executable is None:
        executable = executable_of(of_executable, forms)
    return Compiled(lowered(traced, name, on_device, notes), executable)


def executable_of(told: tuple, forms: Any, device: Any = None) -> Executable:
    """An executable of what `executable_told` gave. device: where it is to run, if that is told."""
    from reactant.calling import recalled_code
    from reactant.runtime.executable import Executable
    body_told, how, code, functions, straight_told = told
    straight = recalled_code.loaded(code, functions, straight_told)
    body = Body(**dict(zip(_BODY, body_told, strict=True)))
    if recalled_code.wants_denormals(body):
        recalled_code.register_denormals()
    object.__setattr__(body, "kept", forms)
    return Executable.recalled(body, *how, straight, device)     # type: ignore[call-arg]


class _Errors(Sequence):
    """What checks of a recalled program raise: the function is traced for it when one fails."""

    def __init__(self, question: Question, count: int):
        self._question, self._count = question, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(self._count))

    def __getitem__(self, number: Any) -> Any:
        question = self._question
        try:
            same = question.is_as_it_was()
        except NotCacheable:
            same = False
        if not same:
            return lambda *told: ReactantError(
                f"A check of '{question.name}' has failed, whose program came out of the compile cache; what it "
                f"depends on has changed since, so what was checked is not known.", code="compile-cache",
                hint="Compile it with cache=False to see.")
        return question.lowered().traced.errors[number]


class RecalledLowered:
    """A program out of the compile cache before XLA, as far as calls need it; the function is traced where more is
    asked."""

    as_jax = False
    placement = None
    choice = None
    ours = False
    call = None

    def __init__(self, question: Question, name: str, traced: Traced, on_device: bool, notes: Sequence[str]):
        from reactant.calling.compiled import Times
        self._question, self.name, self.traced, self.on_device = question, name, traced, on_device
        self.options, self.notes, self.times = question.options, list(notes), Times()
        self.original = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._question.lowered(), name)
