"""LLVM IR of a kernel, as its compiler left it, to one clean function for one launch.

The entry is a wrapper made here: it calls the kernel with everything that the launch knows as a constant, and all is
inlined into it. Optimisation is LLVM's own O2 without unrolling and vectorisation, which leaves loops, one phi for
each induction variable, and no stack slots: what recovering loops and indices starts from.
"""
from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from reactant.errors import Span, UnsupportedError, in_kernel
from reactant.kernels.form import assertions
from reactant.kernels.llvm_ir import assembly, device_library
from reactant.kernels.llvm_ir.device_library import Declared, Dim3
from reactant.kernels.llvm_ir.signatures import split_arguments, type_of
from reactant.support.records import dataclass

LAYOUT = "e-i64:64-i128:128-f80:128-v16:16-v32:32-n8:16:32:64-S128"
DYNAMIC_SHARED = "reactant.dynamic_shared"
_MARK = "%variable."
_SHARED = "reactant.seen_by_others"
LOCK = threading.RLock()


@dataclass
class Wrapper:
    """The entry under construction: its parameters, what it does before the call, what it passes.

    parameters: (LLVM type with attributes, name). lines: LLVM text before the call. operands: "type value" of the call.
    result: LLVM type of what the kernel returns; what is not void is stored through `%result`.
    variables: LLVM name of a global variable -> the pointer that stands for it.
    """

    kernel: str
    parameters: list[tuple[str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    result: str = "void"
    variables: dict[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """The wrapper as an LLVM function."""
        parameters = ", ".join(f"{kind} %{quoted(n)}" for kind, n in self.parameters)
        call = f"call {self.result} @{quoted(self.kernel)}({', '.join(self.operands)})"
        marks = [f"{_MARK}{i} = getelementptr i8, ptr {pointer}, i64 0"
                 for i, pointer in enumerate(self.variables.values())]
        seen = [f"call void @{_SHARED}(ptr %{quoted(n)})" for kind, n in self.parameters if kind.startswith("ptr ")]
        lines = [*seen, *self.lines, *marks, call if self.result == "void" else f"%returned = {call}"]
        if self.result == "i1":
            lines += ["%widened = zext i1 %returned to i8", "store i8 %widened, ptr %result"]
        elif self.result != "void":
            lines.append(f"store {self.result} %returned, ptr %result")
        body = "\n  ".join([*lines, "ret void"])
        return f'define void @{quoted(name)}({parameters}) "no-builtins" {{\n  {body}\n}}\n'


def quoted(name: str) -> str:
    """An LLVM identifier."""
    return name if re.fullmatch(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*", name) else f'"{name}"'


def clean(texts: Iterable[str], wrapper: Wrapper, name: str, grid: Dim3, block: Dim3, dynamic_shared: int,
          check: bool = False) -> str:
    """The text of a module whose only function with a body is `name`.

    texts: LLVM modules, the kernel's first. check: whether failing assertions are reported.
    Raises `UnsupportedError` for what cannot be inlined or is not known: recursion, calls through pointers, printf,
    inline assembly, functions without a body.
    """
    with LOCK:
        text = assertions.resolved(assembly.expanded(_linked(texts)), check)
        text = _rewritten(text, dynamic_shared)
        text = text + wrapper.text(name)
        text = _with_definitions(text, grid, block)
        if wrapper.variables:
            text = _with_variables(_inlined(text, name), name, list(wrapper.variables))
        text = _optimised_for_all(text, name)
    refuse_unknown(text, name)
    return text


# ---- text ------------------------------------------------------------------------------------------------------

def llvm() -> Any:
    """llvmlite's binding, ready to use."""
    import llvmlite.binding as binding
    _initialise(binding)
    return binding


_initialised: list[bool] = []


def _initialise(binding: Any) -> None:
    if not _initialised:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        _initialised.append(True)


def _linked(texts: Iterable[str]) -> str:
    """The modules as one, read and printed again by LLVM (which upgrades old intrinsics)."""
    modules = [parsed(t) for t in texts]
    for other in modules[1:]:
        modules[0].link_in(other)
    return str(modules[0])


def read_module(source: str | bytes) -> str:
    """Text or bitcode as the text of a module. Raises `UnsupportedError` with LLVM's message."""
    if isinstance(source, str):
        return str(parsed(source))
    try:
        return str(llvm().parse_bitcode(source))
    except RuntimeError as error:
        raise UnsupportedError(f"LLVM does not accept this bitcode: {error}",
                               hint="Check the source with its own compiler.", code="kernel-code") from error


def parsed(text: str) -> Any:
    """The llvmlite module of a text. Raises `UnsupportedError` with LLVM's message."""
    binding = llvm()
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise UnsupportedError(f"LLVM does not accept this kernel's code: {error}",
                               hint="Check the source with its own compiler.", code="kernel-code") from error
    return module


_ATTRIBUTES = re.compile(r"^attributes (#\d+) = \{(.*)\}$", re.MULTILINE)
_DYNAMIC = re.compile(r"^@(\S+) = external (?:dso_local )?(?:local_unnamed_addr )?addrspace\(3\) global "
                      r"(?:\[0 x [^\]]+\]|\[0 x \[.*\]\])(.*)$", re.MULTILINE)


def _rewritten(text: str, dynamic_shared: int) -> str:
    """What the optimiser must not be told, or must be told in another way."""
    text = re.sub(r"^(target (datalayout|triple)|source_filename) = .*\n", "", text, flags=re.MULTILINE)
    text = f'target datalayout = "{LAYOUT}"\n' + text
    text = re.sub(r"^@llvm\.(compiler\.)?used = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^( *)#dbg_\w+\(.*\n", "", text, flags=re.MULTILINE)         # variables: only lines are kept
    text = re.sub(r"(?<!!)\bnoundef\b ?", "", text)         # lanes hand shuffles what they never set, and none reads
    text = _ATTRIBUTES.sub(lambda m: f"attributes {m[1]} = {{{_kept_attributes(m[2])}}}", text)
    text = text.replace(" ptx_kernel ", " ").replace(" ptx_device ", " ")
    text = re.sub(r"^define .*", lambda m: _plain_definition(m[0]), text, flags=re.MULTILINE)
    text = re.sub(r'"llvm\.loop\.(unroll|vectorize|interleave|distribute)\.[\w.]+"', '"reactant.ignored"', text)
    text = re.sub(r'@"?llvm\.nvvm\.(?!barrier\.cta\.sync\.aligned\.all)([\w.]+)"?',
                  lambda m: f"@nvvm.{m[1]}", text)
    text = _assembly(text, dynamic_shared)
    text = "\n".join(_with_offsets(part) for part in re.split(r"\n(?=define )", text))
    return _dynamic_shared(text, dynamic_shared)


_TO_INTEGER = re.compile(r"^ *(%\S+) = ptrtoint ptr (%\S+) to i64\b", re.MULTILINE)
_ADDED = re.compile(r"^ *(%\S+) = add (?:nuw |nsw )*i64 (%[^\s,]+), ([^\s,]+)", re.MULTILINE)
_TO_POINTER = re.compile(r"^( *%\S+ = )inttoptr i64 (%[^\s,]+) to ptr\b", re.MULTILINE)


def _with_offsets(function: str) -> str:
    """Addresses that Numba computes as integers (`ptrtoint`, add, `inttoptr`) as offsets from their pointer, so that
    LLVM knows which memory they are in."""
    pointers = dict(_TO_INTEGER.findall(function))
    sums = {name: (a, b) for name, a, b in _ADDED.findall(function)}

    def replace(found: re.Match) -> str:
        a, b = sums.get(found[2], ("", ""))
        if b in pointers and a not in pointers:
            a, b = b, a
        return f"{found[1]}getelementptr i8, ptr {pointers[a]}, i64 {b}" if a in pointers else found[0]
    return _TO_POINTER.sub(replace, function) if pointers else function


def _kept_attributes(text: str) -> str:
    text = re.sub(r'allockind\("[^"]*"\)|"[^"]*"(="[^"]*")?', "", text)
    words = re.sub(r"\b(noinline|optnone|inlinehint|alwaysinline|uwtable(\(\w+\))?|ssp\w*)\b", "", text)
    return f" {words.strip() or 'nounwind'} "


def _plain_definition(line: str) -> str:
    line = re.sub(r"\b(noinline|optnone|inlinehint|alwaysinline|dso_local|comdat(\([^)]*\))?) ", "", line)
    line = re.sub(r" comdat(\(\$[^)]*\))?", "", line)
    return re.sub(r"^define (linkonce_odr|linkonce|weak|weak_odr|private|external|available_externally|hidden|protected"
                  r"| )*", "define ", line)


_ASSEMBLY = re.compile(r'^( *%\S+ = )(?:tail )?call i32 asm (?:sideeffect )?"([^"]*)", "=r"\(\)(.*)$', re.MULTILINE)


def _assembly(text: str, dynamic_shared: int) -> str:
    """The few lines of PTX that Numba emits."""
    def replace(found: re.Match) -> str:
        what, rest = found[2], re.sub(r" #\d+", "", found[3])
        if "%dynamic_smem_size" in what:
            return f"{found[1]}add i32 {dynamic_shared}, 0{rest}"
        if "activemask" in what:
            return f"{found[1]}call i32 @reactant.activemask(){rest}"
        if "lanemask_" in what:
            return f"{found[1]}call i32 @nvvm.read.ptx.sreg.lanemask.{what.split('lanemask_')[1][:2]}(){rest}"
        return found[0]
    text = _ASSEMBLY.sub(replace, text)
    return re.sub(r'^ *(?:tail )?call void asm sideeffect "nanosleep[^\n]*\n', "", text, flags=re.MULTILINE)


def _dynamic_shared(text: str, size: int) -> str:
    """Every dynamic shared array starts at the same address: they are one global, of the launch's size."""
    names = [m[1] for m in _DYNAMIC.finditer(text)]
    if not names:
        return text
    text = _DYNAMIC.sub("", text)
    for name in names:
        text = re.sub(rf"@{re.escape(name)}(?![\w.$\"-])", f"@{DYNAMIC_SHARED}", text)
    return f"{text}\n@{DYNAMIC_SHARED} = internal addrspace(3) global [{size} x i8] undef, align 16\n"


# ---- functions without a body ----------------------------------------------------------------------------------

_DECLARE = re.compile(r'^declare (.*?)@("[^"]+"|[\w.$-]+)\((.*?)\)([^()\n]*)$', re.MULTILINE)
_CALLED = re.compile(r'call (\{[^}]*\}|[\w\[\] ]+?) @([\w.$]+)\(([^\n]*)\)')


def _with_definitions(text: str, grid: Dim3, block: Dim3) -> str:
    """Give a body to every declared function that the device library knows, until none is left."""
    text += device_library.helpers(block)
    for _ in range(8):
        found = _declared(text)
        defined = set(re.findall(r'^define [^@\n]*@"?([\w.$-]+)"?\(', text, re.MULTILINE))
        made = []
        for declared in found:
            definition = device_library.definition(declared, grid, block)
            if definition is not None:
                text = re.sub(rf'^declare [^@\n]*@"?{re.escape(declared.name)}"?\(.*\n?', "", text, flags=re.MULTILINE)
                made.append(definition)
            defined.add(declared.name)
        text += "".join(made)
        missing = undeclared(text, defined | {m[1] for m in re.finditer(r'^declare [^@\n]*@"?([\w.$-]+)"?\(', text,
                                                                        re.MULTILINE)})
        if not made and not missing:
            return _attributed(text)
        text += "".join(missing)
    return _attributed(text)


def _declared(text: str) -> list[Declared]:
    found = []
    for match in _DECLARE.finditer(text):
        name = match[2].strip('"')
        if name.startswith("llvm."):
            continue
        arguments = tuple(type_of(a) for a in split_arguments(match[3]) if a != "...")
        found.append(Declared(name, type_of(match[1]), arguments))
    return found


def undeclared(text: str, known: set[str]) -> list[str]:
    """Declarations of functions that are called and neither declared nor defined (those of our own definitions)."""
    made: dict[str, str] = {}
    for match in _CALLED.finditer(text):
        result, name, rest = match[1].strip(), match[2], match[3]
        if name in known or name in made or name.startswith("llvm."):
            continue
        types = ", ".join(type_of(re.sub(r"\s(%\S+|-?[\d.e+]+|true|false)$", "", a)) for a in split_arguments(rest))
        made[name] = f"declare {type_of(result)} @{name}({types})\n"
    return list(made.values())


def _attributed(text: str) -> str:
    """What LLVM may assume of functions that stay calls."""
    def attribute(match: re.Match) -> str:
        name = match[2].strip('"')
        given = device_library.attributes(name)
        if given is None or name.startswith("llvm."):
            return match[0]
        return f"declare {match[1]}@{match[2]}({match[3]}) {given}"
    return _DECLARE.sub(attribute, text)


# ---- variables of the module -----------------------------------------------------------------------------------

def _inlined(text: str, entry: str) -> str:
    """Everything inlined into the entry, and nothing else done."""
    module = parsed(text)
    internalise(module, entry)
    builder = _pass_builder()
    passes = llvm().create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, builder)
    return str(module)


_CONSTANT_EXPRESSION = re.compile(r"(getelementptr[\w ]*(?:\([^()]*\) "
                                  r"?)?|addrspacecast|ptrtoint|bitcast|inttoptr|add|sub|trunc) "
                                  r"\(([^()]*)\)")


def _with_variables(text: str, entry: str, symbols: list[str]) -> str:
    """The entry with its own pointers in place of global variables."""
    found = re.search(rf"^define [^\n]*@{re.escape(quoted(entry))}\(.*?^\}}", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    body = found[0]
    for number, symbol in enumerate(symbols):
        name = rf"@{re.escape(quoted(symbol))}(?![\w.$\"-])"
        body = re.sub(rf"addrspacecast \(ptr addrspace\(\d\) {name} to ptr\)", f"{_MARK}{number}", body)
        body, casts = re.subn(rf"ptr addrspace\((\d)\) {name}", rf"ptr addrspace(\1) {_MARK}{number}.\1", body)
        body = re.sub(rf"\bptr {name}", f"ptr {_MARK}{number}", body)
        spaces = sorted(set(re.findall(rf"{re.escape(_MARK)}{number}\.(\d)", body))) if casts else []
        pointer = f"{_MARK}{number}"
        cast = "".join(f"\n  {pointer}.{s} = addrspacecast ptr {pointer} to ptr addrspace({s})" for s in spaces)
        body = re.sub(rf"^( *{re.escape(_MARK)}{number} = .*)$", rf"\1{cast}", body, flags=re.MULTILINE)
    return text.replace(found[0], _without_constant_expressions(body))


def _without_constant_expressions(body: str) -> str:
    """Constant expressions of what are parameters now, as instructions after the last of those is defined."""
    hoisted: list[str] = []

    def hoist(match: re.Match) -> str:
        if _MARK not in match[2] and "%hoisted." not in match[2]:
            return match[0]
        hoisted.append(f"%hoisted.{len(hoisted)} = {match[1]} {match[2]}")
        return f"%hoisted.{len(hoisted) - 1}"
    before = ""
    while before != body:
        before = body
        body = _CONSTANT_EXPRESSION.sub(hoist, body)
    lines = body.split("\n")
    last = max(i for i, line in enumerate(lines) if line.strip().startswith(_MARK) and " = " in line)
    return "\n".join([*lines[:last + 1], *(f"  {h}" for h in hoisted), *lines[last + 1:]])


# ---- optimisation ----------------------------------------------------------------------------------------------

_MENTIONED = re.compile(r'@"?([^"\s(),]+)')


def internalise(module: Any, entry: str) -> None:
    """Nothing but the entry is seen from outside, everything else is inlined into it."""
    for function in module.functions:
        if not function.is_declaration and function.name != entry:
            function.linkage = "internal"
            function.add_function_attribute("alwaysinline")
    _keep_together(module)
    for variable in module.global_variables:
        if not variable.is_declaration and not variable.name.startswith("llvm."):
            variable.linkage = "internal"


def _keep_together(module: Any) -> None:
    """What threads do together is not to be copied into branches: LLVM knows it of barriers and warp operations, and
    is told of functions that lead to them."""
    meet = {f.name for f in module.functions if f.is_declaration and b"convergent" in b" ".join(f.attributes)}
    called = {f: set(_MENTIONED.findall(str(f))) for f in module.functions if not f.is_declaration} if meet else {}
    while found := [f for f, names in called.items() if not names.isdisjoint(meet)]:
        for function in found:
            function.add_function_attribute("convergent")
            meet.add(function.name)
            del called[function]


def _pass_builder() -> Any:
    binding = llvm()
    machine = binding.Target.from_default_triple().create_target_machine(opt=2)
    tuning = binding.PipelineTuningOptions(speed_level=2)
    tuning.loop_unrolling = tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = False
    tuning.inlining_threshold = 100_000
    return binding.create_pass_builder(machine, tuning)


def _optimised(text: str, entry: str) -> str:
    module = parsed(text)
    internalise(module, entry)
    builder = _pass_builder()
    builder.getModulePassManager().run(module, builder)
    return str(module)


_MEETINGS = re.compile(r'(@"?(llvm\.nvvm|reactant)\.barrier\.|^ *fence )', re.MULTILINE)
_SEEN = re.compile(rf"^ *(?:tail )?call void @{re.escape(_SHARED)}\(ptr [^%\n]*%(\"[^\"]*\"|[\w.$-]+)\)[^\n]*\n|"
                   rf"^declare [^\n]*@{re.escape(_SHARED)}\([^\n]*\n", re.MULTILINE)


def _optimised_for_all(text: str, entry: str) -> str:
    """The entry optimised, with what other threads may write across barriers read anew.

    LLVM takes memory behind a `noalias` parameter for the thread's own, untouched by calls, until it is given away: a
    call at the entry does that, for parameters that are written anywhere, and is taken out again."""
    alone = _SEEN.sub("", text)
    if not _MEETINGS.search(alone):
        return _optimised(alone, entry)
    roughly = _with_attributes(alone, entry)
    written = {quoted(n) for n, w in zip(parameter_names(roughly, entry), written_parameters(roughly, entry),
                                         strict=True) if w}
    text = _SEEN.sub(lambda m: m[0] if m[1] is None or m[1] in written else "", text)
    return _with_attributes(_SEEN.sub("", _optimised(text, entry)), entry, simplify=False)


def _with_attributes(text: str, entry: str, simplify: bool = True) -> str:
    """The module with LLVM's attributes of what the entry does with its parameters."""
    module = parsed(text)
    internalise(module, entry)
    passes = llvm().create_new_module_pass_manager()
    if simplify:
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
    passes.add_post_order_function_attributes_pass()
    passes.run(module, _pass_builder())
    return str(module)


# ---- what is left over -----------------------------------------------------------------------------------------

_REASONS = {
    "vprintf": "printf in a kernel has nowhere to print. Write what you want to see into an array.",
    "printf": "printf in a kernel has nowhere to print. Write what you want to see into an array.",
    **dict.fromkeys(("malloc", "calloc", "realloc", "alloca", "_Znwm", "_Znam"),
                    "Kernels cannot allocate memory. Pass an array to work in."),
    **dict.fromkeys(("free", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"),
                    "Kernels cannot free memory. Pass an array to work in."),
    **dict.fromkeys(("__assertfail", "__assert_fail"),
                    "This assert ends the thread, which only launches with check=True report. Define NDEBUG."),
    "__reactant_trap": "A kernel cannot stop the program: write a flag into an array, or launch with check=True.",
}
_ROUNDED = "Compiled kernels round to nearest only: use the function that ends in _rn, and correct its result."
_ALLOWED = re.compile(r"llvm\.|reactant\.(?!laneid|thread)")


def refuse_unknown(text: str, entry: str) -> None:
    """Raise `UnsupportedError`, with the kernel's line, for calls that no later step can know."""
    defined = set(re.findall(r'^define [^@\n]*@"?([\w.$-]+)"?\(', text, re.MULTILINE)) - {entry}
    for line in text.splitlines():
        if " asm " in line and "call" in line:
            raise in_kernel(f"The kernel holds inline assembly that is not known{assembly.why_not(line)}.",
                            hint="Write it in CUDA C++ or C.", code="kernel-instruction", span=span_of(text, line))
        found = re.search(r"\b(?:call|invoke) .*?(@(\"[^\"]+\"|[\w.$-]+)|%[\w.\"]+)\(", line)
        if not found or line.startswith(("declare", "define", "!")):
            continue
        name = (found[2] or "").strip('"')
        if not name:
            raise in_kernel("The kernel calls a function through a pointer, which is not known when it is compiled.",
                            hint="Call functions by name, or choose with a switch.", code="kernel-instruction",
                            span=span_of(text, line))
        if name in defined:
            raise in_kernel(f"The device function '{name}' calls itself: recursion is not supported in kernels.",
                            hint="Write it as a loop.", code="kernel-instruction", span=span_of(text, line))
        if not _ALLOWED.match(name) and device_library.attributes(name) is None:
            no_body = "It has no body: define it in the kernel's file, or use one of CUDA's own functions."
            why = _REASONS.get(name, _ROUNDED if re.search(r"_r[dzu]$", name) else no_body)
            raise in_kernel(f"The kernel calls '{name}', which is not known.", hint=why, code="kernel-instruction",
                            span=span_of(text, line))


def span_of(text: str, instruction: str) -> Span | None:
    """The line of an instruction's debug location."""
    return Span.at(source_of(text, instruction))


def source_of(text: str, instruction: str) -> tuple[str, int] | None:
    """(file, line) of an instruction, from the module's debug metadata."""
    number = re.search(r"!dbg (!\d+)", instruction)
    if number is None:
        return None
    nodes = dict(re.findall(r"^(!\d+) = (?:distinct )?(.*)$", text, re.MULTILINE))
    location = nodes.get(number[1], "")
    line = re.search(r"line: (\d+)", location)
    scope = re.search(r"scope: (!\d+)", location)
    while scope and "DIFile" not in (node := nodes.get(scope[1], "")):
        file = re.search(r"file: (!\d+)", node)
        scope = file or re.search(r"scope: (!\d+)", node)
    file_node = nodes.get(scope[1], "") if scope else ""
    name = re.search(r'filename: "([^"]*)"', file_node)
    directory = re.search(r'directory: "([^"]*)"', file_node)
    if line is None or name is None:
        return None
    beside = directory is not None and directory[1] and not name[1].startswith(("/", "<"))
    path = f"{directory[1]}/{name[1]}" if directory is not None and beside else name[1]
    return path, int(line[1])


def written_parameters(text: str, entry: str) -> list[bool]:
    """For each parameter of the entry, whether LLVM could not prove that memory behind it is only read."""
    return [not re.search(r"\b(readonly|readnone)\b", p) for p in _parameters(text, entry)]


def parameter_names(text: str, entry: str) -> list[str]:
    """The names of the entry's parameters."""
    return [re.sub(r'.*%("?)([^"]+)\1$', r"\2", p) for p in _parameters(text, entry)]


def _parameters(text: str, entry: str) -> list[str]:
    head = re.search(rf'^define [^\n]*@{re.escape(quoted(entry))}\((.*)\)[^()]*\{{$', text, re.MULTILINE)
    if head is None:
        raise UnsupportedError(f"There is no function '{entry}' in the module.",
                               hint="Name a function of the module; C++ names need extern \"C\".", code="kernel-code")
    return split_arguments(head[1])


def result_type(function: str) -> str:
    """The LLVM type that a function returns."""
    head = re.sub(r"^define ", "", function.split("@", 1)[0])
    words = re.sub(r"\b(linkonce_odr|linkonce|weak|weak_odr|private|internal|external|hidden|protected|ptx_kernel"
                   r"|fastcc|ccc|unnamed_addr|local_unnamed_addr)\b", "", head)
    return type_of(words)
