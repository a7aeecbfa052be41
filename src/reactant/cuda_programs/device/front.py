"""clang's part: the device code of a source, as LLVM IR for GPUs that is optimised as far as it helps us."""
from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from reactant.kernels.ways_in import clang

ARCHITECTURE = "sm_80"
PROGRAM_HEADERS = Path(__file__).parents[1] / "host" / "include"

LANGUAGE = ("-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={ARCHITECTURE}", "-nocudalib", "-nocudainc",
            "-foffload-implicit-host-device-templates")
SHAPE = ("-O2", "-fno-vectorize", "-fno-slp-vectorize", "-mllvm", "-inline-threshold=100000", "-mllvm",
         "-unroll-runtime=0", "-mllvm", "-unroll-allow-partial=0", "-mllvm", "-unroll-threshold=400",
         "-fno-math-errno", "-fno-exceptions", "-fno-stack-protector", "-fno-sanitize=all", "-S", "-emit-llvm")
"""Everything inlined, loops as they are written but short ones of constant counts, after which local arrays are
registers: vectors are made of threads later, not of iterations."""


def command(source: str | os.PathLike, options: Sequence[str] = (), *, contract: bool = True,
            relocatable: bool = False, compiler: str | os.PathLike | None = None,
            system: Sequence[str] | None = None) -> list[str]:
    """clang's command for a source's device code, which writes LLVM IR to standard output.

    `options` are the program's own: -I, -D, -std, -include and the like.
    """
    standard = [] if any(o.startswith(("-std=", "--std")) for o in options) else ["-std=gnu++17"]
    first = [f"-I{PROGRAM_HEADERS}", "-include", str(PROGRAM_HEADERS / "reactant_program.h")]
    found = clang.system_headers(compiler, True) if system is None else system
    return [*clang.command(compiler), *LANGUAGE, *found, f"-I{clang.HEADERS}", *first, *SHAPE,
            f"-ffp-contract={'fast' if contract else 'off'}", *standard, *options,
            *(["-fgpu-rdc"] if relocatable else []), os.fspath(source), "-o", "-"]


def compiled(source: str | os.PathLike, options: Sequence[str] = (), *, contract: bool = True,
             relocatable: bool = False, compiler: str | os.PathLike | None = None,
             system: Sequence[str] | None = None) -> tuple[str, str]:
    """(LLVM IR, what the compiler warned of). Raises `CompilationError` with the compiler's words."""
    arguments = command(source, options, contract=contract, relocatable=relocatable, compiler=compiler, system=system)
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    said = re.sub(r"^.*(unused-command-line|unknown-cuda-version).*\n", "", done.stderr, flags=re.MULTILINE)
    if done.returncode != 0 or not done.stdout:
        raise clang.CompilationError(f"{os.fspath(source)} does not compile:\n{said.rstrip()}")
    return done.stdout, said
