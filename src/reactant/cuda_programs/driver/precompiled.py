"""The headers that every program includes, precompiled: half of the time that clang takes for a small program; those of
Thrust and CUB, which take seconds, for programs that include some of them.

One file for each side and set of flags that decide what headers mean, in the folder of caches. Flags that headers do
not see (`-DN=3` where no header has an `N`, -I, warnings) do not count.
"""
from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from reactant.cuda_programs.driver import library
from reactant.cuda_programs.driver.toolchain import INCLUDE, LIBRARIES, device_libraries
from reactant.kernels.ways_in import clang
from reactant.support import folders

ASIDE = re.compile(r"-(I|W|isystem|iquote|idirafter|cuid=).*|-w|-Q.*|-g|-c|-v")
"""Flags that do not change what a precompiled header holds."""
VALUE = {"-isystem", "-iquote", "-idirafter", "-include", "-imacros"}
PART = re.compile(r"NDEBUG|_\w+")
"""Macros that belong to the flags where headers know them; with others that they know, nothing is precompiled."""
_LIBRARY = re.compile(r"^\s*#\s*include\s*[<\"](thrust|cub)/", re.MULTILINE)
_DEFINED = re.compile(r"^\s*#\s*define\s+(\w+)", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")


def library_header(text: str) -> str:
    """The name of the header that stands for the libraries that a source includes; "" where there is none."""
    found = {m[1] for m in _LIBRARY.finditer(text)}
    name = "_".join(each for each in ("thrust", "cub") if each in found)
    return f"reactant_{name}.h" if name and device_libraries() else ""


def flags_for(command: Sequence[str], header: str = "", text: str = "") -> list[str]:
    """What a compiler's command is given in addition, so that it reads precompiled headers; [] where there are none.

    Args:
        command: clang's command with all flags but for the source and what is written.
        header: the answer of `library_header`: its headers are precompiled, too.
        text: the source, whose macros before them may change what they mean: nothing is precompiled then.

    Returns:
        The flags, to be put before all `-include`.
    """
    if any(word in ("-imacros", "-include-pch") for word in command):
        return []
    told, macros = _split(command)
    if header:
        libraries = device_libraries()
        before = text[:max(m.end() for m in _LIBRARY.finditer(text))]
        macros = [m for m in macros if m not in libraries] + [f"-D{m[1]}" for m in _DEFINED.finditer(before)]
        told += [*libraries, "-include", str(LIBRARIES / header)]
    folder = library.cache_folder() / "headers" / _key(told)
    words = _words(folder, told)
    if words is None:
        return []
    known = [macro for macro in macros if re.split(r"[=(]", macro[2:])[0] in words]
    if header and known:
        return []
    if any(not PART.fullmatch(re.split(r"[=(]", macro[2:])[0]) for macro in known):
        return []
    target = folder / (hashlib.sha256("\0".join(known).encode()).hexdigest()[:16] + ".pch")
    if not target.exists() and not _make([*told, *known], target):
        return []
    return ["-include-pch", str(target)]


def forget(command: Sequence[str]) -> bool:
    """Remove the precompiled headers of a command that failed with them (the machine's own have changed, say)."""
    found = [Path(path) for word, path in zip(command, command[1:], strict=False) if word == "-include-pch"]
    for path in found:
        path.unlink(missing_ok=True)
    return bool(found)


def _split(command: Sequence[str]) -> tuple[list[str], list[str]]:
    """The flags that count, and the macros of the program."""
    told: list[str] = []
    macros: list[str] = []
    left = list(command)
    while left:
        word = left.pop(0)
        if word in VALUE and left:
            value = left.pop(0)
            if value.endswith("reactant_program.h") or (word == "-isystem" and value.startswith(str(clang.packaged()))):
                told += [word, value]
        elif re.match(r"-[DU].", word) and "_LIBCPP" not in word:
            macros.append(word)
        elif not ASIDE.fullmatch(word) or word in (f"-I{INCLUDE}", f"-I{clang.HEADERS}"):
            told.append(word)
    return told, macros


def _key(told: list[str]) -> str:
    made = hashlib.sha256("\0".join(told).encode())
    for folder in (INCLUDE, INCLUDE / "reactant_program", clang.HEADERS, LIBRARIES):
        for file in sorted(folder.rglob("*") if folder == LIBRARIES else folder.iterdir()):
            found = file.stat()
            made.update(f"{file} {found.st_size} {found.st_mtime_ns}\n".encode())
    return made.hexdigest()[:24]


def _words(folder: Path, told: list[str]) -> set[str] | None:
    """Every identifier in the headers, which are listed once for a set of flags."""
    path = folder / "words"
    try:
        return set(path.read_text().split())
    except OSError:
        pass
    done = subprocess.run([*_syntax(told), "-M", os.devnull], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    files = done.stdout.replace("\\\n", " ").partition(": ")[2].split()
    words: set[str] = set()
    for file in files:
        with contextlib.suppress(OSError):
            words.update(WORD.findall(Path(file).read_text(errors="replace")))
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folders.put(path, " ".join(sorted(words)).encode())
    return words


def _syntax(told: list[str]) -> list[str]:
    return [word for word in told if word not in ("-S", "-emit-llvm")]


def _make(flags: list[str], target: Path) -> bool:
    done = subprocess.run([*_syntax(flags), "-Xclang", "-emit-pch", "-fsyntax-only", os.devnull], capture_output=True,
                          check=False)
    if done.returncode != 0 or not done.stdout.startswith(b"CPCH"):
        return False
    with contextlib.suppress(OSError):
        folders.put(target, done.stdout)
    return target.exists()
