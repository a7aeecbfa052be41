"""Coarsened launches from Python: a kernel's record in and out, for whatever it becomes then (native code, PTX)."""
from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from reactant.cuda_programs.device.coarsen import AXES, Coarsened, block_of
from reactant.cuda_programs.device.text import NAME, VALUE, Function, Module, function, quoted, split
from reactant.cuda_programs.device.versions import Factors, NotAnother
from reactant.kernels.form.record import Dim3, KernelRecord
from reactant.kernels.llvm_ir import cleanup
from reactant.support.records import dataclass

_REGISTER = re.compile(rf"^(%{NAME}) = [^@]*@llvm\.nvvm\.read\.ptx\.sreg\.((?:cta|t)id\.[xyz])\(\)")
_SHARED = re.compile(rf"^(@{NAME})( = [^\n]*\baddrspace\(3\) global [^\n]*?)((?:, !dbg !\d+)?)$", re.MULTILINE)
_EXPRESSION = re.compile(r"\((?:i8|\[[^\]]*\]|\w+), ptr %o\.shared")
_SCOPES = re.compile(r", !(?:alias\.scope|noalias) !\d+")
_BARRIERS = {"@llvm.nvvm.barrier.cta.sync.aligned.all(": "barrier", "@reactant.barrier.grid": "grid",
             **{f"@reactant.barrier.{how}": "reducing" for how in ("count", "and", "or")},
             **{f"@reactant.{what}": "warp" for what in ("barrier.warp", "shuffle.", "vote.", "match.", "activemask")}}


@dataclass(frozen=True)
class Coarse:
    """A change of records: launches of fewer threads and blocks, which do the work of several."""

    factors: Factors

    def __call__(self, record: KernelRecord) -> KernelRecord:
        return coarsened(record, self.factors)


def coarsened(record: KernelRecord, factors: Factors) -> KernelRecord:
    """The same launch by threads that do the work of several, in blocks that do that of several.

    Args:
        record: the launch.
        factors: how many threads and blocks become one; they divide the block and the grid.

    Raises:
        NotAnother: where it cannot be.
    """
    if any(n % f for n, f in zip((*record.block, *record.grid), (*factors.threads, *factors.blocks), strict=True)):
        raise NotAnother("the factors do not divide the block and the grid")
    block, grid = _divided(record.block, factors.threads), _divided(record.grid, factors.blocks)
    module = split(_normal(record.llvm))
    made = function(module.functions[record.entry])
    _named(made)
    shared = _addresses(made, module) if factors.of_blocks > 1 else {}
    coarse = Coarsened(made, factors, list(shared.values()), _barrier)
    blocks = coarse.run()
    if coarse.warps and block[0] % 32:
        raise NotAnother("rows of threads are no whole warps")
    start = [*_places(coarse, block, grid), *_memory(coarse, shared, module)]
    blocks[next(iter(blocks))][:0] = start
    module.functions[record.entry] = Function(made.header, made.name, blocks).text()
    text = module.text()
    known = set(re.findall(r'^declare [^@\n]*@"?([\w.$-]+)"?\(', text, re.MULTILINE))
    text += "".join(f"declare i32 @{name}()\n" for name in sorted(set(re.findall(
        r"@(llvm\.nvvm\.read\.ptx\.sreg\.\w+\.\w)\(\)", text)) - known))
    return dataclasses.replace(record, llvm=text, grid=grid, block=block,
                               dynamic_shared=record.dynamic_shared * factors.of_blocks)


def _divided(numbers: Dim3, factors: Dim3) -> Dim3:
    (x, y, z), (a, b, c) = numbers, factors
    return x // a, y // b, z // c


def _normal(text: str) -> str:
    """The module with names for all values and blocks, loops with one way in, no switches."""
    with cleanup.LOCK:
        module = cleanup.parsed(text)
        passes = cleanup.llvm().create_new_module_pass_manager()
        passes.add_lower_switch_pass()
        passes.add_unify_function_exit_nodes_pass()
        passes.add_loop_simplify_pass()
        passes.add_lcssa_pass()
        passes.add_instruction_namer_pass()
        passes.run(module, cleanup._pass_builder())
        return re.sub(r"^; .*\n", "", str(module), flags=re.MULTILINE)


def _barrier(line: str) -> str:
    return next((kind for called, kind in _BARRIERS.items() if called in line), "")


def _named(made: Function) -> None:
    """Indices get their names for `Coarsened`."""
    names: dict[str, str] = {}
    for lines in made.blocks.values():
        kept = []
        for line in lines:
            if found := _REGISTER.match(line):
                names[found[1]] = f"%o.{found[2]}"
            elif "@llvm.experimental.noalias.scope.decl" not in line:
                kept.append(_SCOPES.sub("", line))
        lines[:] = kept
    for lines in made.blocks.values():
        lines[:] = [VALUE.sub(lambda m: names.get(m[0], m[0]), line) for line in lines]


def _addresses(made: Function, module: Module) -> dict[str, str]:
    """Names for the addresses of shared variables, instead of them."""
    found = {m[1]: f"%o.shared.{number}" for number, m in enumerate(_SHARED.finditer(module.rest))}
    for lines in made.blocks.values():
        for at, line in enumerate(lines):
            for name, address in found.items():
                line = line.replace(f"addrspacecast (ptr addrspace(3) {name} to ptr)", address)
            lines[at] = line
            if _EXPRESSION.search(line) or any(re.search(rf"{re.escape(name)}(?![-\w$.\"])", line) for name in found):
                raise NotAnother("the address of shared memory is in a constant expression")
    return found


def _places(coarse: Coarsened, block: tuple[int, ...], grid: tuple[int, ...]) -> list[str]:
    """What indices were, of those of the new launch."""
    lines = []
    factors = coarse.factors
    for axis, threads, blocks, n, m in zip(AXES, factors.threads, factors.blocks, block, grid, strict=True):
        for kind, size, count in (("tid", n, threads), ("ctaid", m, blocks)):
            lines.append(f"%n.{kind}.{axis} = call range(i32 0, {size}) i32 @llvm.nvvm.read.ptx.sreg.{kind}.{axis}()")
            if count == 1:
                lines.append(f"%o.{kind}.{axis} = add nuw nsw i32 %n.{kind}.{axis}, 0")
        if blocks > 1:
            lines.append(f"%n.first.{axis} = mul nuw nsw i32 %n.ctaid.{axis}, {blocks}")
    for number, (bz, by, bx, tz, ty, tx) in enumerate(coarse.copies):
        for axis, n, k, j, threads, blocks in zip(AXES, block, (tx, ty, tz), (bx, by, bz), factors.threads,
                                                  factors.blocks, strict=True):
            if threads > 1:
                lines.append(f"%o.tid.{axis}.copy{number} = add nuw nsw i32 %n.tid.{axis}, {k * n}")
            if blocks > 1:
                lines.append(f"%o.ctaid.{axis}.copy{number} = add nuw nsw i32 %n.first.{axis}, {j}")
    return lines


def _memory(coarse: Coarsened, shared: Mapping[str, str], module: Module) -> list[str]:
    """Each block's own variables, of which there are as many as blocks became one."""
    lines = []
    texts = {m[1]: m[2] for m in _SHARED.finditer(module.rest)}
    for name, address in shared.items():
        own = [name] + [f"@{quoted(name[1:].strip(chr(34)) + f'.block{k}')}"
                        for k in range(1, coarse.factors.of_blocks)]
        module.rest = module.rest.replace("\n" + name + texts[name], "".join(
            f"\n{each}{texts[name]}" for each in (*own[1:], name)), 1)
        lines += [f"{address}.copy{copy} = addrspacecast ptr addrspace(3) {own[block_of(coarse, copy)]} to ptr"
                  for copy in range(len(coarse.copies))]
    return lines
