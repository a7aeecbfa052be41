"""What random programs must compute: Numba's simulator in a process of its own, and C++ emulated on the host."""
from __future__ import annotations

import ctypes
import importlib.util
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tests.kernels.fuzz.programs import Program

HEADER = Path(__file__).with_name("emulated_cuda.h")

SIMULATE = """
import importlib.util, pickle, sys, types, warnings
import numpy as np
warnings.simplefilter("ignore")

class Kernels:
    # those of a module, which take views that go backwards too
    def __init__(self, module):
        self.module = module
    def __getattr__(self, name):
        class Kernel:
            def __getitem__(_, launch):
                def call(*arguments):
                    given = [np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
                    getattr(self.module, name)[launch](*given)
                    for a, b in zip(arguments, given):
                        if a is not b:
                            a[...] = b
                return call
        return Kernel()

for folder, name, host, arrays in pickle.load(open(sys.argv[1], "rb")):
    spec = importlib.util.spec_from_file_location(name, f"{folder}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scope = {}
    exec(host, scope)
    scope["host"](Kernels(module), *arrays)
    pickle.dump(arrays, open(f"{folder}/{name}.result", "wb"))
"""


def numba_module(program: Program, folder: Path) -> ModuleType:
    """The module of a Numba program, from a file in the folder."""
    name = f"random_{program.seed}"
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def simulated(programs: list[Program], folder: Path) -> list[list[np.ndarray] | None]:
    """The arrays after Numba's simulator ran each program; None where it did not finish."""
    jobs = []
    for program in programs:
        (folder / f"random_{program.seed}.py").write_text(program.source)
        jobs.append((str(folder), f"random_{program.seed}", program.host, program.arrays()))
    (folder / "jobs").write_bytes(pickle.dumps(jobs))
    (folder / "simulate.py").write_text(SIMULATE)
    subprocess.run([sys.executable, "-W", "ignore", "simulate.py", "jobs"], check=True, cwd=folder,
                   timeout=120 + 60 * len(programs), env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"})
    return [pickle.loads((folder / f"random_{p.seed}.result").read_bytes()) for p in programs]


# ---- C++ on the host -------------------------------------------------------------------------------------------

_SIGNATURE = re.compile(r'extern "C" __global__ void (\w+)\((.*?)\) \{')
_SCALARS = {"double": ctypes.c_double, "float": ctypes.c_float, "long long": ctypes.c_longlong}
_DYNAMIC = re.compile(r"extern __shared__ ([\w ]+?) (\w+)\[\];")


def emulated(sources: dict[str, str], folder: Path) -> dict[str, SimpleNamespace]:
    """For each name, the kernels of its CUDA C++ source as objects `k[grid, block](*arguments)` that run on the host.

    A source declares its kernels on one line each, with scalars and pointers as parameters.
    """
    parts, signatures = [f'#include "{HEADER}"'], {}
    for name, source in sources.items():
        text = _DYNAMIC.sub(r"\1 *\2 = (\1 *)dynamic_memory;", source).replace('extern "C" __global__', "static")
        parts += [f"namespace {name} {{", text]
        signatures[name] = _SIGNATURE.findall(source)
        for kernel, parameters in signatures[name]:
            kinds = [p.rsplit(" ", 1)[0] + ("*" if "*" in p else "") for p in parameters.split(", ")]
            given = ", ".join(f"*({kind} *)a[{k}]" for k, kind in enumerate(kinds))
            parts.append(f'static void call_{kernel}(void **a) {{ {kernel}({given}); }}\n'
                         f'extern "C" void run_{name}_{kernel}(void **a, unsigned *grid, unsigned *block) '
                         f"{{ run_kernel(call_{kernel}, a, grid, block); }}")
        parts.append("}")
    (folder / "emulated.cpp").write_text("\n".join(parts))
    subprocess.run([sys.executable, "-m", "ziglang", "cc", "-shared", "-fPIC", "-O1", "-fno-sanitize=all",
                    "-nostdinc++", "-fwrapv", "-ffp-contract=off", "-w", "-Xclang",
                    "-no-enable-noundef-analysis", "emulated.cpp", "-o", "emulated.so"],
                   check=True, cwd=folder, timeout=60 + 10 * len(sources))
    library = ctypes.CDLL(str(folder / "emulated.so"))
    return {name: SimpleNamespace(**{kernel: _HostKernel(getattr(library, f"run_{name}_{kernel}"), parameters)
                                     for kernel, parameters in signatures[name]}) for name in sources}


class _HostKernel:
    """A kernel of the emulation."""

    def __init__(self, run: Any, parameters: str):
        self.run, self.parameters = run, parameters.split(", ")

    def __getitem__(self, launch: tuple) -> Any:
        grid, block = ((*(d if isinstance(d, tuple) else (d,)), 1, 1)[:3] for d in launch[:2])

        def call(*arguments: Any) -> None:
            held: list[Any] = []
            for text, value in zip(self.parameters, arguments, strict=True):
                if isinstance(value, np.ndarray):
                    held.append(ctypes.c_void_p(value.ctypes.data))
                else:
                    kind = text.removeprefix("const ").rsplit(" ", 1)[0]
                    held.append(_SCALARS.get(kind, ctypes.c_int)(value))
            pointers = (ctypes.c_void_p * len(held))(*(ctypes.addressof(h) for h in held))
            self.run(pointers, (ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block))
        return call
