"""A kernel's record as PTX, the assembly language of NVIDIA's GPUs, by LLVM's own compiler for them.

The entry of the PTX takes one pointer for each parameter of the record, and after those one for each buffer it writes:
that is how XLA hands over operands and results. A written buffer's result lies where its operand does, so only the
result's pointer is used; numbers are read through their pointers. Everything else is the record's module: operations
of `record.OPERATIONS` become NVVM's (`OPERATIONS` here), mathematics libdevice's. Rounding is LLVM's: products and sums
are not contracted.
"""
from __future__ import annotations

import functools
import hashlib
import re
from typing import Any

from reactant.errors import UnsupportedError, in_kernel
from reactant.kernels.form.record import Buffer, KernelRecord
from reactant.kernels.llvm_ir import cleanup, signatures
from reactant.kernels.ptx import libdevice
from reactant.support.records import dataclass

TRIPLE = "nvptx64-nvidia-cuda"
PROCESSOR, VERSION = "sm_70", "7.0"
"""The oldest that has everything kernels use; drivers compile it for the GPU that is there."""
STATIC_SHARED = 48 * 1024
"""Bytes of shared memory that a block may have without asking for them at the launch."""


@dataclass(frozen=True)
class PtxKernel:
    """The text, and what a launch of it needs.

    name: the entry, unlike any other kernel's. parameters: the record's. dynamic_shared: bytes to ask for.
    """

    name: str
    text: str
    record: KernelRecord
    dynamic_shared: int

    @property
    def results(self) -> tuple[int, ...]:
        """The parameters that are written, and so results of the launch, in order."""
        return tuple(i for i, p in enumerate(self.record.parameters) if isinstance(p, Buffer) and p.written)


def compile_kernel(record: KernelRecord) -> PtxKernel:
    """The PTX of a record.

    Raises `UnsupportedError`, with the kernel's line, for what a launch from XLA cannot be: barriers of the whole grid
    (over several blocks), functions that have no code for GPUs, more shared memory than there is.
    """
    if any(b.table is not None for b in record.buffers):
        raise UnsupportedError(f"The kernel '{record.name}' takes a list of arrays, which on a GPU it does only as a "
                               f"tensor program.", hint="Let it take one array and compute the index of a row.",
                               code="kernel-argument")
    with cleanup.LOCK:
        return _compiled(record)


@functools.lru_cache(maxsize=256)
def _compiled(record: KernelRecord) -> PtxKernel:
    name = f"{re.sub(r'[^A-Za-z0-9_]', '_', record.name)}_{_digest(record)}"
    text = _translated(record)
    text, dynamic = _placed_shared(text)
    module = cleanup.parsed(text + _entry(record, name))
    libdevice.link(module, record.name)
    machine = _machine()
    _optimise(module, name, machine)
    _require_complete(str(module), record)
    return PtxKernel(name, machine.emit_assembly(module), record, dynamic)


def _digest(record: KernelRecord) -> str:
    return hashlib.sha256(repr((record.llvm, record.grid, record.block)).encode()).hexdigest()[:12]


@functools.cache
def _machine() -> Any:
    binding = cleanup.llvm()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=PROCESSOR, features=f"+ptx{VERSION.replace('.', '')}", opt=3)


def _optimise(module: Any, name: str, machine: Any) -> None:
    binding = cleanup.llvm()
    cleanup.internalise(module, name)
    tuning = binding.PipelineTuningOptions(speed_level=3)
    tuning.slp_vectorization = tuning.loop_vectorization = tuning.loop_interleaving = False
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


# ---- text: what is the same for a GPU is left, the rest renamed -------------------------------------------------

_ORDERINGS = re.compile(r"""(?:\ syncscope\("[^"]*"\))?((?:\ (?:monotonic|acquire|release|acq_rel|seq_cst)\b)+)""",
                        re.VERBOSE)
_REMAINDER = re.compile(r"= frem (?:(?:nnan|ninf|nsz|arcp|contract|afn|reassoc|fast) )*(\w+|<[^>]*>) ([^\s,]+), "
                        r"([^\s,]+)")


def _translated(record: KernelRecord) -> str:
    """The record's module for the other machine, with the entry to be inlined."""
    text = re.sub(r"^(target (datalayout|triple)|source_filename|![a-z].*) ?= ?.*\n", "", record.llvm, flags=re.M)
    text = re.sub(r",? !(dbg|tbaa|noalias|alias\.scope) !\d+", "", text)
    text = re.sub(r"^define .*", lambda m: m[0].replace(" noalias", ""), text, flags=re.M)      # see `_entry`
    if record.frontend in ("numba", "cuda"):        # CUDA's atomics order nothing but themselves
        text = "\n".join(_relaxed(line) if " atomicrmw " in line or " cmpxchg " in line else line
                         for line in text.split("\n"))
    text = _REMAINDER.sub(lambda m: f"= call {m[1]} @fmod.{m[1]}({m[1]} {m[2]}, {m[1]} {m[3]})", text)
    head = f'target datalayout = "{_machine().target_data}"\ntarget triple = "{TRIPLE}"\n'
    return head + libdevice.named(_with_operations(text, record), record)


def _relaxed(line: str) -> str:
    return _ORDERINGS.sub(lambda m: f' syncscope("device"){re.sub(r"[a-z_]+", "monotonic", m[1])}', line)


def _entry(record: KernelRecord, name: str) -> str:
    """What the driver starts: reads the run-time numbers, and calls the record's function.

    Only what no thread writes is `noalias`: LLVM would keep values of other memory across barriers.
    """
    found = re.search(rf"^define [^\n]*@{re.escape(cleanup.quoted(record.entry))}\((.*)\)[^()]*\{{$", record.llvm, re.M)
    assert found is not None
    types = [signatures.type_of(p) for p in signatures.split_arguments(found[1])]
    written = [isinstance(p, Buffer) and p.written for p in record.parameters]
    formal = [f"ptr addrspace(1) {'' if w else 'noalias '}%p{i}" for i, w in enumerate(written)]
    formal += [f"ptr addrspace(1) %r{i}" for i, w in enumerate(written) if w]
    lines, actual = [], []
    for i, (parameter, kind, w) in enumerate(zip(record.parameters, types, written, strict=True)):
        if isinstance(parameter, Buffer):
            lines.append(f"%v{i} = addrspacecast ptr addrspace(1) %{'r' if w else 'p'}{i} to ptr")
        elif kind == "i1":
            lines += [f"%w{i} = load i8, ptr addrspace(1) %p{i}", f"%v{i} = icmp ne i8 %w{i}, 0"]
        else:
            lines.append(f"%v{i} = load {kind}, ptr addrspace(1) %p{i}")
        actual.append(f"{kind} %v{i}")
    lines += [f"call void @{cleanup.quoted(record.entry)}({', '.join(actual)})", "ret void"]
    size = ",".join(map(str, record.block))
    return (f'\ndefine ptx_kernel void @{name}({", ".join(formal)}) "nvvm.reqntid"="{size}" {{\n  '
            + "\n  ".join(lines) + "\n}\n")


# ---- what threads do together -----------------------------------------------------------------------------------

def _shuffle(mode: str, kind: str) -> str:
    """`kind` in pieces of 32 bits, through `shfl.sync`; a width is a mask of segments and the last lane."""
    name, last = {"xor": "bfly"}.get(mode, mode), 0 if mode == "up" else 31
    head = f"%s = sub i32 32, %3\n%m = shl i32 %s, 8\n%c = or i32 %m, {last}\n"

    def move(to: str, value: str) -> str:
        return f"{to} = call i32 @llvm.nvvm.shfl.sync.{name}.i32(i32 %0, i32 {value}, i32 %2, i32 %c)\n"
    if kind in ("i32", "f32"):
        type_ = _TYPES[kind]
        return f"{head}%i = bitcast {type_} %1 to i32\n{move('%j', '%i')}%r = bitcast i32 %j to {type_}"
    return (f"{head}%i = bitcast {_TYPES[kind]} %1 to i64\n%l = trunc i64 %i to i32\n%x = lshr i64 %i, 32\n"
            f"%h = trunc i64 %x to i32\n{move('%a', '%l')}{move('%b', '%h')}%y = zext i32 %a to i64\n"
            f"%z = zext i32 %b to i64\n%w = shl i64 %z, 32\n%j = or i64 %y, %w\n%r = bitcast i64 %j to {_TYPES[kind]}")


_TYPES = {"i32": "i32", "i64": "i64", "f32": "float", "f64": "double"}
_BARRIER = "llvm.nvvm.barrier.cta"

OPERATIONS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "reactant.barrier.count": ("i32", ("i32",), f"%p = icmp ne i32 %0, 0\n"
                               f"%r = call i32 @{_BARRIER}.red.popc.aligned.all(i32 0, i1 %p)"),
    **{f"reactant.barrier.{how}": ("i32", ("i32",), f"%p = icmp ne i32 %0, 0\n"
                                   f"%q = call i1 @{_BARRIER}.red.{how}.aligned.all(i32 0, i1 %p)\n"
                                   f"%r = zext i1 %q to i32") for how in ("and", "or")},
    "reactant.barrier.warp": ("void", ("i32",), "call void @llvm.nvvm.bar.warp.sync(i32 %0)"),
    "reactant.barrier.grid": ("void", (), f"call void @{_BARRIER}.sync.aligned.all(i32 0)"),     # of one block
    "reactant.activemask": ("i32", (), "%r = call i32 @llvm.nvvm.activemask()"),
    "reactant.vote.ballot": ("i32", ("i32", "i1"), "%r = call i32 @llvm.nvvm.vote.ballot.sync(i32 %0, i1 %1)"),
    **{f"reactant.vote.{how}": ("i1", ("i32", "i1"), f"%r = call i1 @llvm.nvvm.vote.{how}.sync(i32 %0, i1 %1)")
       for how in ("any", "all", "uni")},
    **{f"reactant.match.any.{kind}": ("i32", ("i32", kind),
                                      f"%r = call i32 @llvm.nvvm.match.any.sync.{kind}(i32 %0, {kind} %1)")
       for kind in ("i32", "i64")},
    **{f"reactant.match.all.{kind}": ("i32", ("i32", kind),
                                      f"%x = call {{i32, i1}} @llvm.nvvm.match.all.sync.{kind}p(i32 %0, {kind} %1)\n"
                                      f"%r = extractvalue {{i32, i1}} %x, 0") for kind in ("i32", "i64")},
    **{f"reactant.shuffle.{mode}.{kind}": (type_, ("i32", type_, "i32", "i32"), _shuffle(mode, kind))
       for mode in ("idx", "up", "down", "xor") for kind, type_ in _TYPES.items()},
}
"""Operation of `record.OPERATIONS` -> result, arguments and body, as LLVM IR with `%0`, `%1`... for the arguments."""


def _with_operations(text: str, record: KernelRecord) -> str:
    """Bodies for the operations that the module declares, and declarations of what those call."""
    made: list[str] = []
    for found in re.finditer(r'^declare [^@\n]*@"?(reactant\.[\w.]+)"?\(.*\n', text, re.M):
        if found[1] == "reactant.barrier.grid" and record.grid != (1, 1, 1):
            line = next((s for s in record.llvm.splitlines() if "call" in s and "@reactant.barrier.grid(" in s), "")
            raise in_kernel(f"The kernel '{record.name}' waits for all blocks of its grid, which a launch on the GPU "
                            "cannot do from a compiled program.", hint="Launch it with one block, or as two kernels.",
                            code="kernel-barriers", span=cleanup.span_of(record.llvm, line))
        result, arguments, body = OPERATIONS[found[1]]
        formal = ", ".join(f"{t} %{i}" for i, t in enumerate(arguments))
        end = "ret void" if result == "void" else f"ret {result} %r"
        body = re.sub(r"%(\d+)\b", r"%a\1", f"({formal}) alwaysinline convergent {{\n{body}\n{end}\n}}\n")
        made.append(f'define internal {result} @"{found[1]}"{body}')
        text = text.replace(found[0], "")
    return _declared(text + "\n" + "".join(made))


_NVVM_CALL = re.compile(r"call (\{[^}]*\}|\w+) @(llvm\.nvvm\.[\w.]+)\(([^)\n]*)\)")


def _declared(text: str) -> str:
    """The text with declarations of the NVVM intrinsics that it calls."""
    known = set(re.findall(r'^declare [^@\n]*@"?([\w.$-]+)"?\(', text, re.M))
    for result, name, arguments in _NVVM_CALL.findall(text):
        if name not in known:
            known.add(name)
            types = ", ".join(a.split()[0] for a in signatures.split_arguments(arguments))
            text += f"declare {result} @{name}({types})\n"
    return text


# ---- shared memory ----------------------------------------------------------------------------------------------

_SHARED = re.compile(r"^@(\"[^\"]+\"|[\w.$-]+) = .*addrspace\(3\) global .*\n", re.M)


def _placed_shared(text: str) -> tuple[str, int]:
    """Shared memory within `STATIC_SHARED` stays variables; more is one piece that the launch asks for: (text, its
    bytes)."""
    names = [m[1] for m in _SHARED.finditer(text)]
    if not names:
        return text, 0
    module = cleanup.parsed(text)
    data, variables = _machine().target_data, {v.name: v for v in module.global_variables}
    places, total = {}, 0
    for name in names:
        kind = variables[name.strip('"')].global_value_type
        total = -(-total // 16) * 16
        places[name] = total
        total += data.get_abi_size(kind)
    if total <= STATIC_SHARED:
        return re.sub(rf"(@{re.escape(cleanup.DYNAMIC_SHARED)} = .*)\[0 x i8\]", r"\1[1 x i8]", text), 0
    text = _SHARED.sub("", text)
    for name, place in places.items():
        text = re.sub(rf"@{re.escape(name)}(?![\w.$\"-])",
                      f"getelementptr (i8, ptr addrspace(3) @shared, i64 {place})" if place else "@shared", text)
    return text + "\n@shared = external addrspace(3) global [0 x i8], align 16\n", total


# ---- what is left over ------------------------------------------------------------------------------------------

_NATIVE = re.compile(r"""llvm\.(?:nvvm\..*|(?:sqrt|fabs|floor|ceil|trunc|rint|nearbyint|round|roundeven|minnum|maxnum|
    minimum|maximum|minimumnum|maximumnum|fma|fmuladd|copysign|canonicalize|is\.fpclass|fpto[su]i\.sat|
    [su](?:min|max|add|sub|mul|cmp)|[su](?:add|sub|shl)\.sat|[su](?:add|sub|mul)\.with\.overflow|abs|
    ct(?:lz|tz|pop)|bswap|bitreverse|fsh[lr]|lifetime\.(?:start|end)|assume|expect|memcpy(?:\.inline)?|memmove|
    memset(?:\.inline)?|experimental\.noalias\.scope\.decl|invariant\.(?:start|end)|stacksave|stackrestore|prefetch|
    donothing|sideeffect|vector\.reduce\.\w+|convert\.(?:to|from)\.fp16|ptrmask|threadlocal\.address|trap|
    load\.relative|fake\.use)\b.*)""", re.VERBOSE)
"""LLVM's intrinsics that its compiler for these GPUs knows. It ends the process where it meets another."""

_WIDE = re.compile(r"= ([su]itofp|fpto[su]i|frem|atomicrmw|cmpxchg)\b[^\n]*\b(?:i(?:6[5-9]|[7-9]\d|\d{3,})|fp128)\b")
"""Instructions on numbers of over 64 bits that it does not know either."""


def _require_complete(text: str, record: KernelRecord) -> None:
    for name in re.findall(r'^declare [^@\n]*@"?([\w.$-]+)"?\(', text, re.M):
        if not _NATIVE.fullmatch(name) and re.search(rf'call [^\n]*@"?{re.escape(name)}"?\(', text):
            raise UnsupportedError(f"The kernel '{record.name}' calls '{name}', which has no code for NVIDIA's GPUs "
                                   "here.", hint="Define it in the kernel's file.", code="kernel-no-gpu-code")
    if found := _WIDE.search(text):
        raise UnsupportedError(f"The kernel '{record.name}' needs {found[1]} of numbers of over 64 bits, which has "
                               "no code for NVIDIA's GPUs.", hint="Use numbers of at most 64 bits.",
                               code="kernel-no-gpu-code")
