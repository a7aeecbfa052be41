"""LLVM: optimise a module for this processor, make machine code of it, load it. Nothing else imports llvmlite, which is
loaded when there is something to compile: 50 ms."""
from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from reactant.native import objects


class _Binding:
    """`llvmlite.binding`, loaded when it is first asked for something."""

    def __getattr__(self, name: str) -> Any:
        import llvmlite.binding as binding
        return getattr(binding, name)


llvm: Any = _Binding()
_lock = threading.RLock()
"""One compilation at a time."""
_libraries: list[Any] = []
"""Machine code is never unloaded: XLA programs hold addresses of it."""


LEAST_TRIPS = 4
"""Iterations from which a loop may become vector code. LLVM takes 16, below which it wants them to be whole vectors: a
logarithm of sums over 12 states took 1,100 us, and takes 180. It holds for all of llvmlite in this process."""
MOST_INTERLEAVED = 4
"""The greatest stride that LLVM reads as whole vectors and takes apart. With a stride of 6 it read wrong numbers of
float64: products with a turned matrix of 6 columns, where its rows were no multiple of 4."""
MOST_SCHEDULED = 5000
"""Instructions of a block among which LLVM looks for some to put into one vector. It takes 100,000, and half of the
time that a reaction network compiled for, whose code ran no faster."""
LARGE, HUGE = 8000, 40_000
"""Lines of LLVM IR from which on loops are not unrolled, and no vectors sought: a wavefront of 155 steps (17,000 lines)
took 30 s with both, 19 s without unrolling, 6 s with neither."""
LINE, WRITTEN_OUT = 3e-4, 1.5e-4
"""Seconds that LLVM takes for a line, and for one that it makes by writing loops out (one core, 2.5 GHz; 40 programs
took 0.5 to 2 times as long)."""
NEWEST_KNOWN = 22
"""The newest LLVM whose options were looked at."""


@cache
def _target() -> tuple[Any, str, str]:
    """(target, processor, its features and how to tune for it)."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    if llvm.llvm_version_info[0] <= NEWEST_KNOWN:       # LLVM ends the process over an option that it does not know
        llvm.set_option("reactant", f"--vectorizer-min-trip-count={LEAST_TRIPS}")
        llvm.set_option("reactant", f"--max-interleave-group-factor={MOST_INTERLEAVED}")
        llvm.set_option("reactant", f"--slp-schedule-budget={MOST_SCHEDULED}")
    for library in ("libm.so.6", "libgcc_s.so.1"):      # divisions of 128 bits are functions of the latter
        with contextlib.suppress(RuntimeError):         # where it is part of the C library
            llvm.load_library_permanently(library)
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    if is_x86():
        # LLVM takes vector loads from scattered addresses for cheaper than they are: strided loops get 1.7 times slower
        features += ",+prefer-no-scatter" + (",+prefer-no-gather" if cpu.startswith("znver") else "")
    return llvm.Target.from_triple(llvm.get_process_triple()), cpu, features


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
    return f'nounwind "target-cpu"="{cpu}" "target-features"="{features}"'.strip()


@cache
def fingerprint() -> str:
    """What machine code depends on besides its source."""
    with _lock:
        _, cpu, features = _target()
    chosen = (LEAST_TRIPS, MOST_INTERLEAVED, MOST_SCHEDULED, LARGE, HUGE)
    import llvmlite
    return f"{llvmlite.__version__} {llvm.llvm_version_info} {chosen} {cpu} {features}"


def seconds(text: str, written_out: int) -> float:
    """What LLVM takes for a text, roughly; written_out: operations that it makes of loops."""
    lines = text.count("\n")
    return lines * LINE + (written_out * WRITTEN_OUT if lines < LARGE else 0)


class InvalidCode(RuntimeError):
    """LLVM refused the code we made: a defect of this room."""


@contextlib.contextmanager
def _optimised(text: str, machine: Any, level: int) -> Iterator[Any]:
    """An LLVM module after optimisation, in an LLVM context of its own (others in this process use the global one)."""
    own = llvm.create_context()
    module = None
    try:
        try:
            module = llvm.parse_assembly(text, context=own)
            module.triple = llvm.get_process_triple()
            module.data_layout = str(machine.target_data)
            module.verify()
        except RuntimeError as error:
            raise InvalidCode(f"LLVM refuses native code that reactant made: {error}") from None
        length = text.count("\n")
        tuning = llvm.create_pipeline_tuning_options(speed_level=level if length < HUGE else min(level, 1))
        tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = length < HUGE
        tuning.loop_unrolling = length < LARGE
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
        yield module
    finally:
        if module is not None:
            module.close()
        own.close()


def optimised(text: str, level: int = 3) -> str:
    """LLVM IR after LLVM's optimisations."""
    with _lock, _optimised(text, _machine(), level) as module:
        return str(module)


def assembly(text: str, level: int = 3) -> str:
    """Assembly of this processor."""
    with _lock:
        machine = _machine()
        with _optimised(text, machine, level) as module:
            return str(machine.emit_assembly(module))


@cache
def _jit() -> Any:
    return llvm.create_lljit_compiler(_machine(), use_jit_link=False)


TAKES_MASKS_APART = r"(?:extractelement|bitcast) <\d+ x i1>|reduce\.(?:or|and)\.v\d+i1"
NO_SUCH_REGISTER = r"vp?movmsk\w*\s+%[xy]mm(?:1[6-9]|2\d|3[01])\b"
"""LLVM 22 hands registers to this instruction that it cannot name; what is executed reads another one."""


def _machine_code(text: str, machine: Any, level: int) -> bytes | None:
    """An object file; None where LLVM would read a wrong register."""
    with _optimised(text, machine, level) as module:
        if "+avx512vl" in text and re.search(TAKES_MASKS_APART, made := str(module)):
            with contextlib.closing(llvm.create_context()) as own, \
                    contextlib.closing(llvm.parse_assembly(made, context=own)) as copy:
                if re.search(NO_SUCH_REGISTER, machine.emit_assembly(copy)):
                    return None
        code: bytes = machine.emit_object(module)
        return code


def object_file(text: str, level: int = 3) -> bytes:
    """An object file to link, position independent, of LLVM IR."""
    with _lock:
        target, cpu, features = _target()
        machine = target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="small")
        code = _machine_code(text, machine, level)
        if code is None:
            code = _machine_code(text.replace("+avx512vl", "-avx512vl"), machine, level)
        return code or b""


def load(text: str, name: str, exports: tuple[str, ...], imports: Mapping[str, int], level: int = 3) -> dict[str, int]:
    """Compile LLVM IR and load it; addresses of the exported functions. `name` is used once per process."""
    with _lock:
        if (there := objects.addresses_of(name)) is not None:       # from the compile cache
            return there
        machine = _machine()
        code = _machine_code(text, machine, level)
        if code is None:
            code = _machine_code(text.replace("+avx512vl", "-avx512vl"), machine, level)
        if code is None:
            raise InvalidCode("LLVM names registers that this processor does not have")
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for symbol, address in imports.items():
            builder.import_symbol(symbol, address)
        for symbol in exports:
            builder.export_symbol(symbol)
        tracker = builder.link(_jit(), name)
        _libraries.append(tracker)
        found = {symbol: tracker[symbol] for symbol in exports}
        objects.note(name, code, found)
        return found


@cache
def is_x86() -> bool:
    with _lock:
        return str(llvm.get_process_triple()).startswith(("x86_64", "i686"))


def coroutine_end_type() -> str:
    """What `llvm.coro.end` returns: nothing since LLVM 22."""
    return "void" if llvm.llvm_version_info[0] >= 22 else "i1"
