"""What build systems ask of nvcc: its version, and with -v how it links."""
from __future__ import annotations

import re
import shlex

from reactant.cuda_programs.driver import libraries
from reactant.cuda_programs.driver.library import home
from reactant.cuda_programs.driver.linking import link_command
from reactant.cuda_programs.driver.options import Command, Input
from reactant.cuda_programs.driver.toolchain import INCLUDE, Toolchain

VERSION = """nvcc: NVIDIA (R) Cuda compiler driver: in its place reactant's, for CPUs
Cuda compilation tools, release 12.4, V12.4.131
"""
CMAKE = re.compile(r"\b(__cmake_determine_cuda|CMakeCUDACompilerId\.cu)$")
"""The files that CMake names when it asks what a compiler is and where its libraries are."""
ARCHITECTURES = "\n".join(f"compute_{number}" for number in (50, 52, 60, 61, 70, 75, 80, 86, 89, 90))


def asked(arguments: list[str]) -> str | None:
    """The answer to a question that needs no compiler; None where the command line is no such question."""
    for text in arguments:
        if text in ("--version", "-V"):
            return VERSION
        if text in ("--help", "-h"):
            return HELP
        if text in ("--list-gpu-arch", "-arch-list", "--list-gpu-code"):
            return ARCHITECTURES + "\n"
    return None


def settings(command: Command, tools: Toolchain) -> str:
    """What nvcc -v says first, which CMake reads: folders, and the command that links."""
    folder = home(tools)
    if any(CMAKE.search(each.text) for each in command.inputs):
        libraries.all_in(tools, folder / "lib64")       # it looks for their files, and links without us
    places = f'"-L{folder / "lib64"}"'
    line = link_command(command, tools, [Input("object", "a.o")], command.output or "a.out")
    words = ["-lcudart_static" if word.endswith("libcudart_static.a") else word for word in line
             if not word.startswith("-L")]
    return "\n".join([
        f"#$ TOP={folder}", f"#$ PATH={folder / 'bin'}:{shlex.quote(str(tools.zig.parent))}",
        f'#$ INCLUDES="-I{INCLUDE}"', f"#$ LIBRARIES= {places}",
        "#$ cicc -arch compute_80", "#$ " + " ".join([*words, places, "-lcudadevrt"])]) + "\n"


HELP = """reactant nvcc [options] files: compiles CUDA programs for this CPU, host and device code together.

    reactant nvcc -O3 app.cu helpers.cpp -o app      an executable
    reactant nvcc -c app.cu -o app.o                 an object
    reactant nvcc -dc a.cu; reactant nvcc a.o b.o    device code that other files may call
    reactant nvcc -ptx app.cu                        the PTX of the device code
    reactant run app.cu -- arguments                 compiles, keeps and runs

The options are nvcc's; those about GPUs (-arch, -gencode, -Xptxas, -maxrregcount...) are taken and change nothing.
Environment: NVCC_APPEND_FLAGS, NVCC_PREPEND_FLAGS; REACTANT_CUDA_HOST=packaged links with the ziglang package alone;
REACTANT_CUDA_CACHE is the folder of the runtime library. Programs read REACTANT_CUDA_THREADS (CPU threads that run
blocks) and REACTANT_CUDA_CHECK=1 (says on standard error why a call of the runtime fails).
"""
