"""The module before threads are arranged: what clang left open is defined, all calls that can be are inlined, every
value and block has a name."""
from __future__ import annotations

import re
from typing import Any

from reactant.cuda_programs.device import library, shapes, switches
from reactant.cuda_programs.device.retarget import Retargeted
from reactant.cuda_programs.device.shapes import Shapes
from reactant.cuda_programs.device.text import declared, quoted
from reactant.kernels.llvm_ir import cleanup
from reactant.native import engine

_MENTIONED = re.compile(r'@("[^"]+"|[-\w$.]+)')


_MEETS = re.compile(r"@(?:reactant\.(?:barrier|shuffle|vote|match|reduce)|nvvm\.barrier|nvvm\.shfl)")


def prepared(module: Retargeted, known: Shapes | None = None) -> str:
    """The module's text with one function for each kernel, into which everything is inlined that can be; one more for
    each shape of blocks that is `known`, of kernels whose threads meet."""
    text, module.copies = shapes.with_copies(module.text, module.kernels, known or {})
    there = declared(text)
    added, names = library.definitions(there.values())
    for name in names & there.keys():
        text = text.replace(there[name], "", 1)
    text += "\n" + added + library.undeclared(added, text) + _meetings(added, there)
    text += "".join(f'declare {kind} @{quoted(name)}() nounwind willreturn memory(none)\n'
                    for name, kind in library.REGISTERS.items() if name not in there and f"@{name}(" in text)
    text += library.external(text)
    copies = {name for made in module.copies.values() for name in made.values()}
    return _inlined(text, copies.union(module.kernels), {*module.device, *module.constant})


def _meetings(added: str, there: dict[str, str]) -> str:
    """Declarations of what threads do together in definitions that were added."""
    return "".join(line.rstrip("\n") + " convergent nounwind\n" for line in cleanup.undeclared(added, set(there))
                   if _MEETS.search(line) and "barrier.block" not in line)


def _inlined(text: str, kernels: set[str], kept: set[str]) -> str:
    """`kept`: variables that the host may ask for, whether or not device code uses them."""
    llvm = engine.llvm
    with engine._lock:
        engine._target()
        context = llvm.create_context()
        try:
            parsed = llvm.parse_assembly(text, context=context)
        except RuntimeError as error:
            raise engine.InvalidCode(f"LLVM refuses the device code: {error}") from None
        recursive = _recursive(parsed)
        for function in parsed.functions:
            if not function.is_declaration:
                function.linkage = "external" if function.name in kernels else "internal"
                if function.name not in kernels and function.name not in recursive:
                    function.add_function_attribute("alwaysinline")
        for variable in parsed.global_variables:
            if not variable.is_declaration and not variable.name.startswith("llvm."):
                variable.linkage = "external" if variable.name in kept else "internal"
        _run(parsed, "always_inliner", "global_dead_code_eliminate", "simplify_cfg", "instruction_combine",
             "instruction_namer")
        if " switch " in (text := str(parsed)):
            parsed.close()
            parsed = llvm.parse_assembly(switches.sequential(text), context=context)
        _run(parsed, "lower_switch", "unify_function_exit_nodes", "loop_simplify", "lcssa", "instruction_namer")
        for variable in parsed.global_variables:
            if not variable.is_declaration and variable.name in kept:
                variable.linkage = "internal"
        made = str(parsed)
        parsed.close()
        context.close()
    return made


def _run(module: Any, *names: str) -> None:
    """Passes over a module."""
    passes = engine.llvm.create_new_module_pass_manager()
    for name in names:
        getattr(passes, f"add_{name}_pass")()
    options = engine.llvm.create_pipeline_tuning_options(2)
    passes.run(module, engine.llvm.create_pass_builder(engine._machine(), options))


def _recursive(module: Any) -> set[str]:
    """Functions that call themselves, in however many steps."""
    calls: dict[str, set[str]] = {}
    for function in module.functions:
        if not function.is_declaration:
            body = str(function).partition("{\n")[2]           # a comment may stand before the first line
            calls[function.name] = {n.strip('"') for n in _MENTIONED.findall(body)}
    found = set()
    for name in calls:
        seen, todo = set(), list(calls[name] & calls.keys())
        while todo:
            callee = todo.pop()
            if callee not in seen:
                seen.add(callee)
                todo += calls[callee] & calls.keys()
        if name in seen:
            found.add(name)
    return found
