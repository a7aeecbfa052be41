"""LLVM: optimise a module for this processor, make machine code of it, load it. Nothing else imports llvmlite."""
from __future__ import annotations

import ctypes
import ctypes.util
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

_lock = threading.RLock()
"""LLVM's global context is not for several threads at once."""
_libraries: list[Any] = []
"""Machine code is never unloaded: XLA programs hold addresses of it."""


@cache
def _target() -> tuple[Any, str, str]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    for name in ("m", "c"):
        found = ctypes.util.find_library(name)
        if found:
            llvm.load_library_permanently(found)
    return (llvm.Target.from_triple(llvm.get_process_triple()), llvm.get_host_cpu_name(),
            llvm.get_host_cpu_features().flatten())


def _machine() -> Any:
    target, cpu, features = _target()
    return target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="jitdefault",
                                        jit=True)


@cache
def has_feature(name: str) -> bool:
    """Whether the processor has an instruction set ("fma", "f16c", "avx512f")."""
    with _lock:
        _target()
        return bool(llvm.get_host_cpu_features().get(name))


@cache
def vector_bytes() -> int:
    """Bytes of a vector register."""
    return 64 if has_feature("avx512f") else 32 if has_feature("avx2") else 16


@cache
def attributes() -> str:
    """Function attributes: the processor, so that the vectoriser knows its registers."""
    with _lock:
        _, cpu, features = _target()
    wide = '"prefer-vector-width"="512"' if has_feature("avx512f") and "znver" in cpu else ""
    return f'nounwind "target-cpu"="{cpu}" "target-features"="{features}" {wide}'.strip()


@cache
def fingerprint() -> str:
    """What machine code depends on besides its source."""
    with _lock:
        _, cpu, features = _target()
    return f"{llvmlite.__version__} {llvm.llvm_version_info} {cpu} {features}"


class InvalidCode(RuntimeError):
    """LLVM refused the code we made: a defect of this room."""


def _parsed(text: str, machine: Any) -> Any:
    try:
        module = llvm.parse_assembly(text)
        module.triple = llvm.get_process_triple()
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InvalidCode(f"LLVM refuses native code that reactant made: {error}") from None
    return module


def _optimised(text: str, machine: Any, level: int) -> Any:
    module = _parsed(text, machine)
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = tuning.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return module


def optimised(text: str, level: int = 3) -> str:
    """LLVM IR after LLVM's optimisations."""
    with _lock:
        return str(_optimised(text, _machine(), level))


def assembly(text: str, level: int = 3) -> str:
    """Assembly of this processor."""
    with _lock:
        machine = _machine()
        return str(machine.emit_assembly(_optimised(text, machine, level)))


@cache
def _jit() -> Any:
    return llvm.create_lljit_compiler(_machine(), use_jit_link=False)


def load(text: str, name: str, exports: tuple[str, ...], imports: Mapping[str, int], level: int = 3) -> dict[str, int]:
    """Compile LLVM IR and load it; addresses of the exported functions. `name` is used once per process."""
    with _lock:
        machine = _machine()
        code = machine.emit_object(_optimised(text, machine, level))
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for symbol, address in imports.items():
            builder.import_symbol(symbol, address)
        for symbol in exports:
            builder.export_symbol(symbol)
        tracker = builder.link(_jit(), name)
        _libraries.append(tracker)
        return {symbol: tracker[symbol] for symbol in exports}


@cache
def is_x86() -> bool:
    with _lock:
        return str(llvm.get_process_triple()).startswith(("x86_64", "i686"))


@cache
def coroutine_end_type() -> str:
    """What `llvm.coro.end` returns in this LLVM."""
    with _lock:
        _target()
        for kind in ("void", "i1"):
            try:
                llvm.parse_assembly(f"declare {kind} @llvm.coro.end(ptr, i1, token)").verify()
                return kind
            except RuntimeError:
                continue
    raise InvalidCode(f"LLVM {llvm.llvm_version_info} has no coroutines as we know them.")
