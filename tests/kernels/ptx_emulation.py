"""PTX on the host: each instruction becomes a line of C++, threads are the coroutines of `fuzz/emulated_cuda.h`.

`emulating(folder)` makes the reference interpreter of StableHLO run launches of PTX this way. All state spaces are one
memory; approximations (`ex2.approx`) are exact functions. Written after NVIDIA's description of the language.
"""
from __future__ import annotations

import contextlib
import ctypes
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxlib.mlir import ir

import reactant
from reactant.ir import attributes as attr
from reactant.ir import interpret, library
from reactant.ir.context import building
from reactant.kernels.ptx import ptx_call

HEADERS = (Path(__file__).parent / "fuzz" / "emulated_cuda.h", Path(__file__).parent / "ptx_emulation.h")
TYPES = {**{f"{k}{n}": f"{'' if k == 's' else 'u'}int{n}_t" for k in "usb" for n in (8, 16, 32, 64)},
         "f16": "_Float16", "f32": "float", "f64": "double", "pred": "bool"}

UNARY = {"neg": "-({0})", "not": "~({0})", "abs": "absolute({0})", "popc": "__builtin_popcountll({0})",
         "clz": "leading({0})", "brev": "reversed({0})", "bfind": "(31 - (int)leading({0}))", "sqrt": "root({0})",
         "rcp": "1 / ({0})", "rsqrt": "1 / root({0})", "ex2": "exp2({0})", "lg2": "log2({0})", "tanh": "tanh({0})",
         "mov": "{0}", "cvta": "{0}", "sin": "sin({0})", "cos": "cos({0})"}
BINARY = {"add": "{0} + {1}", "sub": "{0} - {1}", "div": "{0} / {1}", "rem": "{0} % {1}", "and": "{0} & {1}",
          "or": "{0} | {1}", "xor": "{0} ^ {1}", "min": "least({0}, {1})", "max": "greatest({0}, {1})",
          "copysign": "copysign({1}, {0})"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">",
               "hs": ">="}
ROUNDINGS = {"rz": "FE_TOWARDZERO", "rm": "FE_DOWNWARD", "rp": "FE_UPWARD"}


class Kernel:
    """One entry of a PTX text, as C++."""

    def __init__(self, name: str, text: str):
        self.name = name
        text = re.sub(r"//.*", "", text)
        start = text.index(f".entry {name}(")
        self.outside, signature, self.body = text[:start], *text[start:].split("{", 1)
        self.parameters = re.findall(r"\.param \.\w+ .*?(\w+)[,\n]", signature)
        self.block = [int(n) for n in re.findall(r"\.reqntid (\d+), (\d+), (\d+)", signature)[0]]
        self.variables: list[str] = []

    def source(self) -> str:
        """A function for a thread, and one that runs a launch: `run_NAME(addresses, grid, block)`."""
        for statement in re.findall(r"^\s*(\.(?:visible |extern |weak )?.*?);", self.outside, re.M | re.S):
            self.variable(statement, "static")
        lines = [line for statement in self.statements() for line in self.translated(statement)]
        return (f"namespace space_{self.name} {{\n" + "\n".join(self.variables)
                + "\nstatic void thread(void **given) {\nbool carry = false;\n" + "\n".join(lines)
                + f'\n}}\n}}\nextern "C" void run_{self.name}(void **given, unsigned *grid, unsigned *block) '
                  f"{{ run_kernel(space_{self.name}::thread, given, grid, block); }}\n")

    def statements(self) -> Iterator[str]:
        body = self.body[:self.body.rindex("}")]
        body = re.sub(r"__\$(\w+)", r"own_\1", body)        # registers that LLVM names without a sign
        body = re.sub(r"^(\s*\$\w+:)(?!\s*\.branchtargets)", r"\1;", body, flags=re.M)
        found = [" ".join(s.split()) for s in body.split(";")]
        tables = (re.fullmatch(r"(\$\w+): \.branchtargets (.*)", s) for s in found)
        self.targets = {m[1]: m[2].split(", ") for m in tables if m}
        declared = [s for s in found if s.startswith((".reg", ".local", ".shared"))]
        yield from declared
        own: list[str] = []             # registers of a block in braces
        for statement in found:
            while statement.startswith("}"):
                own, statement = [], statement[1:].lstrip()
                yield "}"
            if block := re.fullmatch(r"\{ \.reg \.\w+ (.*)", statement):
                own = block[1].split(", ")
                yield "{ " + block[1]
                continue
            if statement.startswith("{ "):
                yield "{"
                statement = statement[2:]
            if statement and statement not in declared and not re.search(r"\.branchtargets|^\.pragma", statement):
                yield re.sub(rf"(?<![%\w])({'|'.join(own)})\b", r"%\1", statement) if own else statement

    def variable(self, text: str, storage: str) -> str:
        """An array of a state space."""
        found = re.search(r"\.(shared|local|const|global)(?: \.align (\d+))? \.(\w+) ([\w$.]+)(?:\[(\d*)\])?"
                          r"(?: = (.*))?$", " ".join(text.split()))
        if found is None:
            return ""
        space, align, kind, name, count, content = found.groups()
        given = f" = {content if content.startswith('{') else '{' + content + '}'}" if content else ""
        size = 262144 if count == "" else int(count or 1)
        line = f"alignas({max(int(align or 1), 1)}) {storage} {TYPES[kind]} {plain(name)}[{size}]{given};"
        if space != "local":
            self.variables.append(line)
        return line

    def translated(self, text: str) -> list[str]:
        if text.endswith(":"):
            return [plain(text)]
        if text[0] in "{}":
            return [f"{{ uint64_t {text[2:]};" if len(text) > 1 else text]
        if text.startswith(".reg"):
            kind, name, count = re.fullmatch(r"\.reg \.(\w+) %(\w+?)(?:<(\d+)>)?", text).groups()
            names = ", ".join(f"{name}{i} = 0" for i in range(int(count))) if count else f"{name} = 0"
            return [f"{'bool' if kind == 'pred' else 'uint64_t'} {names};"]
        if text.startswith((".local", ".shared")):
            line = self.variable(text, "" if text.startswith(".local") else "static")
            return [line] if text.startswith(".local") else []
        guard = ""
        if found := re.match(r"@(!?)%(\w+) ", text):
            guard, text = f"if ({found[1]}{found[2]}) ", text[found.end():]
        name, _, rest = text.partition(" ")
        line = self.instruction(name.split("."), operands(rest))
        return [f"{guard}{{ {line} }}"]

    def instruction(self, parts: list[str], given: list[str]) -> str:
        base, kind = parts[0], TYPES.get(parts[-1], "")
        special = getattr(self, f"at_{base}", None)
        if special is not None:
            return special(parts, given, kind)
        carry = {"addc": " + carry", "subc": " - carry"}.get(base, "")
        base = base.removesuffix("c") if carry else base
        values = [self.read(o, kind) for o in given[1:]]
        if "cc" in parts or carry:
            wide = f"(unsigned __int128){values[0]} {'+' if base == 'add' else '-'} {values[1]}{carry}"
            after = "carry = wide >> 32 & 1;" if "cc" in parts else ""
            return f"auto wide = {wide}; {given[0][1:]} = ({kind})wide; {after}"
        if kind == "bool":
            value = {"and": "{0} && {1}", "or": "{0} || {1}", "xor": "{0} != {1}", "not": "!{0}", "mov": "{0}"}[base]
        else:
            value = UNARY.get(base) if len(values) == 1 else BINARY.get(base)
        if value is None:
            raise NotImplementedError(".".join(parts))
        if "NaN" in parts:
            value = f"with_nan({value}, {{0}}, {{1}})"
        return self.write(given[0], kind, rounded(parts, kind, value.format(*values)))

    # -- operands

    def read(self, text: str, kind: str) -> str:
        if text.startswith("%"):
            special = re.fullmatch(r"%(tid|ctaid|ntid|nctaid)\.([xyz])", text)
            if special:
                which = {"tid": "threadIdx", "ctaid": "blockIdx", "ntid": "blockDim", "nctaid": "gridDim"}[special[1]]
                return f"({kind}){which}.{special[2]}"
            return text[1:] if kind == "bool" else f"as<{kind}>({text[1:]})"
        if text.startswith("{"):
            pieces = operands(text[1:-1])
            width = {2: 32, 4: 16}[len(pieces)] if kind.endswith("64_t") else 32 // len(pieces)
            return " | ".join(f"(uint64_t)as<uint{width}_t>({p[1:]}) << {i * width}" for i, p in enumerate(pieces))
        if found := re.fullmatch(r"0([df])([0-9A-F]+)", text):
            return f"as<{kind}>(0x{found[2]}ull)"
        if text in ("true", "false") or re.fullmatch(r"-?\d+", text) or re.fullmatch(r"-?0x[0-9a-fA-F]+", text):
            return f"({kind}){'INT64_MIN' if text == str(-2**63) else text + ('' if text[0] in 'tf' else 'll')}"
        return f"({kind})(uint64_t){plain(text)}"

    def write(self, target: str, kind: str, value: str) -> str:
        if target.startswith("{"):
            pieces = operands(target[1:-1])
            width = int(re.search(r"\d+", kind)[0]) // len(pieces)
            return f"uint64_t all = bits<{kind}>({value}); " + " ".join(
                f"{p[1:]} = (uint{width}_t)(all >> {i * width});" for i, p in enumerate(pieces) if p != "_")
        return f"{target[1:]} = {value};" if kind == "bool" else f"{target[1:]} = bits<{kind}>({value});"

    def address(self, text: str) -> str:
        base, _, offset = text[1:-1].partition("+")
        if base.startswith("%"):
            return f"({base[1:]} + ({offset or 0}))"
        return f"((uint64_t){plain(base)} + ({offset or 0}))"

    # -- instructions of their own form

    def at_ld(self, parts: list[str], given: list[str], kind: str) -> str:
        if "param" in parts:
            return f"{given[0][1:]} = (uint64_t)given[{self.parameters.index(given[1][1:-1])}];"
        volatile = "volatile " if {"volatile", "relaxed", "acquire"} & set(parts) else ""
        start, targets = self.address(given[1]), operands(given[0].strip("{}"))
        return f"{volatile}{kind} *p = ({volatile}{kind} *){start}; " + " ".join(
            self.write(t, kind, f"p[{i}]") for i, t in enumerate(targets) if t != "_")

    def at_st(self, parts: list[str], given: list[str], kind: str) -> str:
        values = operands(given[1].strip("{}"))
        return f"{kind} *p = ({kind} *){self.address(given[0])}; " + " ".join(
            f"p[{i}] = {self.read(v, kind)};" for i, v in enumerate(values))

    def at_atom(self, parts: list[str], given: list[str], kind: str) -> str:
        how = next(p for p in parts if p in ("add", "min", "max", "inc", "dec", "exch", "cas", "and", "or", "xor"))
        v, w = (self.read(o, kind) for o in (*given[2:], given[2])[:2])
        new = {"add": f"old + {v}", "exch": v, "and": f"old & {v}", "or": f"old | {v}", "xor": f"old ^ {v}",
               "min": f"least(old, {v})", "max": f"greatest(old, {v})", "inc": f"old >= {v} ? 0 : old + 1",
               "dec": f"old == 0 || old > {v} ? {v} : old - 1", "cas": f"old == {v} ? {w} : old"}[how]
        store = "" if given[0] == "_" else self.write(given[0], kind, "old")
        return f"{kind} *p = ({kind} *){self.address(given[1])}; {kind} old = *p; *p = {new}; {store}"

    def at_red(self, parts: list[str], given: list[str], kind: str) -> str:
        return self.at_atom(parts, ["_", *given], kind)

    def at_mul(self, parts: list[str], given: list[str], kind: str) -> str:
        return self.product(parts, given, kind, "")

    def at_mad(self, parts: list[str], given: list[str], kind: str) -> str:
        return self.product(parts, given, kind, given[3])

    def at_madc(self, parts: list[str], given: list[str], kind: str) -> str:
        return self.product(parts, given, kind, given[3], " + carry")

    def product(self, parts: list[str], given: list[str], kind: str, added: str, carry: str = "") -> str:
        a, b = self.read(given[1], kind), self.read(given[2], kind)
        if kind in ("float", "double", "_Float16"):
            return self.write(given[0], kind, rounded(parts, kind, f"{a} * {b}"))
        full = f"(({'unsigned ' if kind[0] == 'u' else ''}__int128){a} * {b})"
        width = int(re.search(r"\d+", kind)[0])
        out = re.sub(r"\d+", str(2 * width), kind) if "wide" in parts else kind
        piece = f"({out})({full} >> {width})" if "hi" in parts else f"({out}){full}"
        if not added:
            return self.write(given[0], out, piece)
        if "cc" in parts or carry:
            after = f"carry = wide >> {width} & 1;" if "cc" in parts else ""
            return (f"auto wide = (unsigned __int128){piece} + {self.read(added, out)}{carry}; "
                    f"{given[0][1:]} = ({out})wide; {after}")
        return self.write(given[0], out, f"{piece} + {self.read(added, out)}")

    def at_fma(self, parts: list[str], given: list[str], kind: str) -> str:
        a, b, c = (self.read(o, kind) for o in given[1:])
        return self.write(given[0], kind, rounded(parts, kind, f"fma({a}, {b}, {c})"))

    def at_shl(self, parts: list[str], given: list[str], kind: str) -> str:
        by = self.read(given[2], "uint32_t")
        return self.write(given[0], kind, f"{by} >= 8 * sizeof({kind}) ? 0 : {self.read(given[1], kind)} << {by}")

    def at_shr(self, parts: list[str], given: list[str], kind: str) -> str:
        by, x = self.read(given[2], "uint32_t"), self.read(given[1], kind)
        return self.write(given[0], kind, f"{by} >= 8 * sizeof({kind}) ? ({x} < 0 ? -1 : 0) : {x} >> {by}")

    def at_shf(self, parts: list[str], given: list[str], kind: str) -> str:
        low, high, by = (self.read(o, "uint32_t") for o in given[1:])
        by = f"({by} & 31)" if "wrap" in parts else f"({by} > 32 ? 32 : {by})"
        both = f"((uint64_t){high} << 32 | {low})"
        return self.write(given[0], kind, f"{both} << {by} >> 32" if "l" in parts else f"{both} >> {by}")

    def at_bfe(self, parts: list[str], given: list[str], kind: str) -> str:
        x, start, count = self.read(given[1], kind), *(self.read(o, "uint32_t") for o in given[2:])
        return self.write(given[0], kind, f"extracted({x}, {start} & 255, {count} & 255)")

    def at_prmt(self, parts: list[str], given: list[str], kind: str) -> str:
        return self.write(given[0], kind, f"permuted({', '.join(self.read(o, kind) for o in given[1:])})")

    def at_setp(self, parts: list[str], given: list[str], kind: str) -> str:
        a, b, how = self.read(given[1], kind), self.read(given[2], kind), parts[1]
        if how in ("num", "nan"):
            value = f"{'!' if how == 'num' else ''}({a} != {a} || {b} != {b})"
        elif kind in ("float", "double", "_Float16"):
            unordered = len(how) == 3
            value = f"{a} {COMPARISONS[how[:2]]} {b}" if how != "ne" else f"({a} < {b} || {a} > {b})"
            value = f"({a} != {a} || {b} != {b} || {value})" if unordered else value
        else:
            value = f"{a} {COMPARISONS[how]} {b}"
        if len(given) == 4:
            also = {"and": "&&", "or": "||", "xor": "!="}[parts[2]]
            value = f"({value}) {also} {self.read(given[3], 'bool')}"
        return f"{given[0][1:]} = {value};"

    def at_selp(self, parts: list[str], given: list[str], kind: str) -> str:
        a, b = self.read(given[1], kind), self.read(given[2], kind)
        return self.write(given[0], kind, f"{self.read(given[3], 'bool')} ? {a} : {b}")

    def at_cvt(self, parts: list[str], given: list[str], kind: str) -> str:
        to, x = TYPES[parts[-2]], self.read(given[1], kind)
        from_float, to_float = parts[-1][0] == "f", parts[-2][0] == "f"
        if integral := next((p for p in parts if p in ("rni", "rzi", "rmi", "rpi")), None):
            x = f"{({'rni': 'rint', 'rzi': 'trunc', 'rmi': 'floor', 'rpi': 'ceil'})[integral]}({x})"
        if from_float and not to_float:
            x = f"saturated<{to}>({x})"
        if "sat" in parts and to_float:
            x = f"fmin(fmax({x}, 0), 1)"
        return self.write(given[0], to, f"({to}){x}")

    def at_bra(self, parts: list[str], given: list[str], kind: str) -> str:
        return f"goto {plain(given[0])};"

    def at_brx(self, parts: list[str], given: list[str], kind: str) -> str:
        ways = " ".join(f"case {i}: goto {plain(t)};" for i, t in enumerate(self.targets[given[1]]))
        return f"switch ({self.read(given[0], 'uint32_t')}) {{ {ways} }}"

    def at_ret(self, parts: list[str], given: list[str], kind: str) -> str:
        return "return;"

    def at_bar(self, parts: list[str], given: list[str], kind: str) -> str:
        if parts[1] == "warp":
            return f"__syncwarp({self.read(given[0], 'uint32_t')});"
        if parts[1] == "sync":
            return "__syncthreads();"
        how = {"popc": "count"}.get(parts[2], parts[2])
        return self.write(given[0], kind, f"__syncthreads_{how}({self.read(given[2], 'bool')})")

    at_barrier = at_bar

    def at_fence(self, parts: list[str], given: list[str], kind: str) -> str:
        return ";"

    at_membar = at_fence

    def at_shfl(self, parts: list[str], given: list[str], kind: str) -> str:
        value, lane, clamp = (self.read(o, "uint32_t") for o in given[1:4])
        target, _, inside = given[0].partition("|")
        also = f"{inside[1:]} = in;" if inside else ""
        return (f"bool in; int lane = source_lane('{parts[2][0]}', {lane}, {clamp}, in); "
                f"{target[1:]} = from_lane({value}, lane); {also}")

    def at_vote(self, parts: list[str], given: list[str], kind: str) -> str:
        how, p, mask = parts[2], self.read(given[1], "bool"), self.read(given[2], "uint32_t")
        if how == "uni":
            return f"{given[0][1:]} = __all_sync({mask}, {p}) || !__any_sync({mask}, {p});"
        return self.write(given[0], kind, f"__{how}_sync({mask}, {p})")

    def at_match(self, parts: list[str], given: list[str], kind: str) -> str:
        x, mask = self.read(given[1], kind), self.read(given[2], "uint32_t")
        target, _, all_ = given[0].partition("|")
        if parts[1] == "any":
            return f"{target[1:]} = matching<{kind}>({mask}, {x});"
        also = f"{all_[1:]} = same;" if all_ else ""
        return (f"uint32_t found = matching<{kind}>({mask}, {x}); bool same = __all_sync({mask}, found == {mask}); "
                f"{target[1:]} = same ? {mask} : 0; {also}")

    def at_activemask(self, parts: list[str], given: list[str], kind: str) -> str:
        return f"{given[0][1:]} = __activemask();"


def operands(text: str) -> list[str]:
    """The operands of an instruction; those in braces or brackets are one."""
    return [o.strip() for o in re.findall(r"\s*(\{[^}]*\}|\[[^\]]*\]|[^,]+)", text) if o.strip()]


def plain(name: str) -> str:
    return name.replace("$", "dollar_").replace(".", "_dot_")


def rounded(parts: list[str], kind: str, value: str) -> str:
    mode = next((ROUNDINGS[p] for p in parts[1:] if p in ROUNDINGS), None)
    return value if mode is None or kind not in ("float", "double") else \
        f"rounding({mode}, [&]() __attribute__((noinline, optnone)) -> {kind} {{ return {value}; }})"


# ---- launches --------------------------------------------------------------------------------------------------

def compiled(kernels: dict[str, str], folder: Path) -> ctypes.CDLL:
    """A library with `run_NAME` for each kernel, from their texts by name."""
    source = "\n".join([*(f'#include "{h}"' for h in HEADERS), *(Kernel(n, t).source() for n, t in kernels.items())])
    stem = folder / f"ptx_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    if not stem.with_suffix(".so").exists():
        stem.with_suffix(".cpp").write_text(source)
        subprocess.run([sys.executable, "-m", "ziglang", "cc", "-shared", "-fPIC", "-O1", "-fno-sanitize=all",
                        "-nostdinc++", "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing", "-w", "-Xclang",
                        "-no-enable-noundef-analysis", stem.with_suffix(".cpp").name, "-o",
                        stem.with_suffix(".so").name], check=True, cwd=folder, timeout=120 + 20 * len(kernels))
    return ctypes.CDLL(str(stem.with_suffix(".so")))


def launch(op: ir.Operation, given: list[np.ndarray], run: Any) -> list[np.ndarray]:
    """What XLA does with the call: operands and results by address, results over their operands."""
    configuration = ir.DictAttr(op.attributes["backend_config"])
    aliases = [re.search(r"output_tuple_indices = \[(\d*)\], operand_index = (\d+)", str(a)).groups()
               for a in ir.ArrayAttr(op.attributes["output_operand_aliases"])]
    operands_ = [np.array(x, order="C") for x in given]
    results = {int(result or 0): operands_[int(operand)] for result, operand in aliases}
    arrays = [*operands_, *(results[i] for i in range(len(op.results)))]
    pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    sizes = [[attr.decode(configuration[f"{what}_{axis}"]) for axis in "xyz"] for what in ("grid", "block")]
    run(pointers, *((ctypes.c_uint * 3)(*s) for s in sizes))
    return [results[i] for i in range(len(op.results))]


@contextlib.contextmanager
def emulating(folder: Path) -> Iterator[list[str]]:
    """Inside, `ir.interpret.evaluate` runs launches of PTX; gives the names of those it has run."""
    libraries: dict[str, ctypes.CDLL] = {}
    done: list[str] = []

    def run(op: ir.Operation, operands_: list[np.ndarray]) -> list[np.ndarray]:
        configuration = ir.DictAttr(op.attributes["backend_config"])
        name, text = attr.decode(configuration["name"]), attr.decode(configuration["kernel_data"])
        if name not in libraries:
            libraries[name] = compiled({name: text}, folder)
        done.append(name)
        return launch(op, operands_, getattr(libraries[name], f"run_{name}"))
    key = f"stablehlo.custom_call@{ptx_call.TARGET}"
    library.TABLE[key] = run
    try:
        yield done
    finally:
        del library.TABLE[key]


def run(program: Any, arguments: Sequence[Any], folder: Path) -> list[str]:
    """Run `program(*arguments)`, made for a GPU, with its launches emulated: the arrays are changed. Gives the names of
    the kernels launched."""
    lowered = reactant.jit(program, target="gpu", frontend="numpy").lower(*arguments)
    leaves = [np.asarray(a) for a in arguments if isinstance(a, (np.ndarray, float))]
    with emulating(folder) as launched, building():
        results = interpret.evaluate(lowered.module, leaves)
    for leaf, result in lowered.traced.written.items():
        leaves[leaf][...] = results[result]
    return launched
