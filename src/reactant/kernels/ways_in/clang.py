"""The C and C++ compiler: the clang of the `ziglang` package, or one that is named."""
from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reactant.errors import ReactantError, UnsupportedError

HEADERS = Path(__file__).parents[1] / "headers"
PASSES_OFF = ("-O2", "-Xclang", "-disable-llvm-passes", "-fno-math-errno", "-ffp-contract=off", "-g", "-Xclang",
              "-debug-info-kind=limited", "-S", "-emit-llvm", "-fno-exceptions", "-fno-stack-protector",
              "-fno-sanitize=all", "-Wno-everything")
"""What every compilation is given: IR as a compiler starts from it, with types and lines; cleaning it up is ours."""


ADVICE = {
    r"cuda(Texture|Surface)Object_t|cudaReadMode|'texture'|\btexture<|'surface'|'(tex|surf)[123]D":
        "There is no texture memory here: give the kernel the array itself, and clamp and interpolate its indices in "
        "the kernel.",
    r"requires relocatable device code": "Kernels cannot launch kernels here: launch it from the host function.",
    r"'(clock(64)?|__globaltimer)'": "There is no clock in a kernel: time the launch from outside.",
    r"'mma\.h'|'nvcuda'|'cuda/|'cub/|'thrust/": "This library of device code is not here: write the step as plain "
        "loops, or name a toolkit with toolkit=.",
    r"'__\w+_r[duz]'": "Compiled kernels round to nearest only: use the function that ends in _rn.",
    r"'curand|curand(State|_init|_uniform|_normal)": "There is no cuRAND here: compute numbers in the kernel from a "
        "counter (Philox, or a hash of the thread's number), or give the kernel an array of them.",
}
"""What to do about parts of CUDA that are not here, by what the compiler says about them."""


class CompilationError(ReactantError, ValueError):
    """The compiler does not accept the source; carries what it said."""

    code = "kernel-code"
    hint = "The message is the compiler's own: mend the source."
    said = ""
    """All that the compiler said."""


def command(compiler: str | os.PathLike | None) -> list[str]:
    """How clang is started. Raises `UnsupportedError` where there is none."""
    if compiler is not None:
        found = shutil.which(os.fspath(compiler))
        if found is None:
            raise UnsupportedError(f"There is no compiler '{compiler}'.",
                                   hint="Name an existing clang, or leave compiler= out to use the one of the "
                                        "ziglang package.", code="kernel-toolchain")
        return [found]
    return [str(packaged() / ("zig.exe" if os.name == "nt" else "zig")), "clang"]


def packaged() -> Path:
    """The folder of the ziglang package."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        raise UnsupportedError("Compiling C and CUDA C++ needs clang.",
                               hint="Install a whole one (pip install ziglang), or name another: compiler='clang'.",
                               code="kernel-toolchain")
    return Path(found.origin).parent


def system_headers(compiler: str | os.PathLike | None, cplusplus: bool) -> list[str]:
    """Where the standard library's headers are, for the packaged clang; a named one knows its own."""
    if compiler is not None:
        return []
    library = packaged() / "lib"
    libraries = [library / "libcxx" / "include"] if cplusplus else []
    libc = library / "libc" / "include"
    folders = [*libraries, library / "include", libc / "x86_64-linux-gnu", libc / "x86-linux-gnu",
               libc / "generic-glibc", libc / "x86-linux-any", libc / "x86_64-linux-any", libc / "any-linux-any"]
    flags = ["-nostdinc", "-nostdinc++"] if cplusplus else ["-nostdinc"]
    for folder in folders:
        if folder.is_dir():
            flags += ["-isystem", str(folder)]
    if cplusplus:
        flags += ["-D_LIBCPP_ABI_VERSION=1", "-D_LIBCPP_ABI_NAMESPACE=__1", "-D_LIBCPP_HAS_THREADS=1",
                  "-D_LIBCPP_HAS_MONOTONIC_CLOCK=1", "-D_LIBCPP_HAS_TERMINAL=1", "-D_LIBCPP_HAS_MUSL_LIBC=0",
                  "-D_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0", "-D_LIBCPP_HAS_FILESYSTEM=1",
                  "-D_LIBCPP_HAS_RANDOM_DEVICE=1", "-D_LIBCPP_HAS_LOCALIZATION=1", "-D_LIBCPP_HAS_UNICODE=1",
                  "-D_LIBCPP_HAS_WIDE_CHARACTERS=1", "-D_LIBCPP_HAS_TIME_ZONE_DATABASE=0",
                  "-D_LIBCPP_PSTL_BACKEND_SERIAL", "-D_LIBCPP_HARDENING_MODE_DEFAULT=2", "-D_LIBCPP_HARDENING_MODE=2",
                  "-D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=2"]
    return flags


def definitions(defines: Mapping[str, object] | Iterable[str], include: Sequence[str | os.PathLike]) -> list[str]:
    """-D and -I flags. Raises `TypeError` for a single string, where a list is meant."""
    if isinstance(include, (str, os.PathLike)):
        include = [include]
    if isinstance(defines, str):
        raise TypeError("defines is a dict, or a list of names; not one string.")
    pairs = defines.items() if isinstance(defines, Mapping) else [(name, True) for name in defines]
    return [f"-D{name}" if value is True or value is None else f"-D{name}={value}" for name, value in pairs
            if value is not False] + [f"-I{os.fspath(folder)}" for folder in include]


def compile_to_llvm(arguments: Sequence[str], source: str, name: str, suffix: str,
                    compiler: str | os.PathLike | None, preprocessed: bool = False) -> str:
    """LLVM IR of a source text. Raises `CompilationError` with the compiler's own words."""
    arguments = _for_preprocessed(arguments) if preprocessed else arguments
    done = _started(arguments, [*PASSES_OFF, "-o", "-"], source, None if preprocessed else name, suffix, compiler)
    if done.returncode != 0 or not done.stdout:
        raise refused(name, done.stderr)
    return done.stdout


def preprocessed(arguments: Sequence[str], source: str, name: str, suffix: str, compiler: str | os.PathLike | None
                 ) -> tuple[str, tuple[str, ...]]:
    """A source text with its headers in it, and the headers that are missing, which are left out. Raises
    `CompilationError` for what the preprocessor refuses."""
    with tempfile.TemporaryDirectory(prefix="reactant-") as folder:
        listed = Path(folder) / "headers"
        more = ["-E", "-Wno-everything", "-MD", "-MF", str(listed), "-MT", "source", "-Xclang", "-MG", "-o", "-"]
        done = _started(arguments, more, source, name, suffix, compiler)
        if done.returncode != 0:
            raise refused(name, done.stderr)
        names = listed.read_text(encoding="latin-1").replace("\\\n", " ").split(":", 1)[1]
    headers = [h.replace("\\ ", " ") for h in re.findall(r"(?:\\.|\S)+", names)]
    return done.stdout, tuple(h for h in headers[1:] if not Path(h).exists())       # the source is the first


def complaints(arguments: Sequence[str], text: str, compiler: str | os.PathLike | None) -> str:
    """What the compiler says of a preprocessed text, every error with all its notes; nothing where it accepts it."""
    more = ["-fsyntax-only", "-Wno-everything", "-fno-exceptions", "-ferror-limit=0", "-ftemplate-backtrace-limit=0",
            "-fno-caret-diagnostics", "-fno-color-diagnostics", "-fmacro-backtrace-limit=1"]
    done = _started(_for_preprocessed(arguments), more, text, None, ".cu", compiler)
    return done.stderr if done.returncode else ""


def refused(name: str, said: str, missing: Sequence[str] = ()) -> CompilationError:
    """The error for a source that does not compile. missing: headers that were not found."""
    shown = _first_errors(said).rstrip()
    shown += "".join(f"\nThere is no header '{header}' here: if the kernels need it, name its folder with include=."
                     for header in missing)
    advice = "".join(f"\n{text}" for pattern, text in ADVICE.items() if re.search(pattern, shown))
    error = CompilationError(f"{name} does not compile:\n{shown}{advice}")
    error.said = said
    return error


_ERROR = re.compile(r"^([^\n:]+):(\d+):\d+: (?:fatal )?error: (.*)$", re.MULTILINE)


def errors_in(said: str) -> dict[tuple[str, int, str], str]:
    """The errors in what a compiler said: (file, line, message) -> its words, with the notes that follow."""
    found = list(_ERROR.finditer(said))
    ends = [*(m.start() for m in found[1:]), len(said)]
    return {(m[1], int(m[2]), m[3]): re.sub(r"\n\d+ errors? generated.*", "", said[m.start():end], flags=re.DOTALL)
            .rstrip() for m, end in zip(found, ends, strict=True)}


def _for_preprocessed(arguments: Sequence[str]) -> list[str]:
    """The arguments for a text that has its headers in it."""
    included = {k for k, argument in enumerate(arguments) if argument == "-include"}
    return [a for k, a in enumerate(arguments) if not {k, k - 1} & included and not a.startswith("-D")] + ["-nocudainc"]


def _started(arguments: Sequence[str], more: Sequence[str], source: str, name: str | None, suffix: str,
             compiler: str | os.PathLike | None) -> subprocess.CompletedProcess[str]:
    """Run the compiler on a text. name: what messages call it, None where the text says so."""
    with tempfile.TemporaryDirectory(prefix="reactant-") as folder:
        path = Path(folder) / f"source{suffix}"
        if name is None:
            path.write_text(source, encoding="latin-1")
        else:
            path.write_text(f'#line 1 "{_escaped(name)}"\n{source}\n')
        done = subprocess.run([*command(compiler), *arguments, *more, str(path)], capture_output=True, text=True,
                              encoding="latin-1" if more[0] == "-E" or name is None else None, cwd=os.getcwd(),
                              check=False)
        done.stdout = done.stdout.replace(folder, "")        # the same text each time
        return done


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _first_errors(text: str, limit: int = 30) -> str:
    noise = ("unused-command-line", "unknown-cuda-version")
    lines = [line for line in text.splitlines() if not any(word in line for word in noise)]
    return "\n".join(lines[:limit])


def read_source(source: str | os.PathLike, suffixes: tuple[str, ...]) -> tuple[str, str, Path | None]:
    """(text, name for messages, folder) of a file, or of a source given as text. Raises `FileNotFoundError`."""
    if isinstance(source, os.PathLike) or ("\n" not in source and source.endswith(suffixes)):
        path = Path(source)
        return path.read_text(), str(path), path.resolve().parent
    return source, "<source>", None
