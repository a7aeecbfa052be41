"""The runtime library is made once, whole or not at all."""
import os
import re
import subprocess
import threading
from pathlib import Path

import pytest

from reactant.cuda_programs.driver import libraries, library
from reactant.cuda_programs.driver.toolchain import INCLUDE, RUNTIME, toolchain

API = (INCLUDE / "reactant_program" / "api.h").read_text()


def test_it_looks_like_a_toolkit():
    folder = library.home(toolchain())
    assert (folder / "include" / "cuda_runtime.h").exists() and os.access(folder / "bin" / "nvcc", os.X_OK)
    there = {file.name for file in (folder / "lib64").iterdir()}
    assert there - {f"lib{name}.a" for name in libraries.NAMES} == {*library.ARCHIVES, *library.EMPTY, library.EXPORTS}


def test_every_function_that_is_declared_is_there():
    """What the header does not declare is an error of the compiler; what it declares has to link."""
    declared = set(re.findall(r"^[\w* ]+?\b(_*cuda\w+)\(", API, re.M))
    declared -= {"cudaConfigureCall"}           # clang's device side asks for a declaration
    archive = library.home(toolchain()) / "lib64" / library.ARCHIVES[0]
    listed = subprocess.run(["nm", "-g", archive], capture_output=True, text=True, check=True).stdout
    defined = set(re.findall(r" T (\w+)$", listed, re.M))
    assert len(declared) > 150 and declared - defined == set()


def test_several_processes_at_once_make_it_once(tmp_path, monkeypatch):
    made = []

    def compiled(tools, source, folder, flags):
        made.append(source.name)
        (folder / f"{source.stem}.o").write_bytes(b"")
        return folder / f"{source.stem}.o"
    monkeypatch.setenv("REACTANT_CUDA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(library, "compiled", compiled)
    monkeypatch.setattr(library, "call", lambda words: Path(words[2]).write_bytes(b"!<arch>\n"))
    threads = [threading.Thread(target=library.home, args=(toolchain(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == sorted(file.name for file in RUNTIME.glob("*.cpp"))
    assert (library.home(toolchain()) / "lib64" / library.ARCHIVES[0]).exists()
    assert not [file for file in (tmp_path / "cache").iterdir() if file.name.startswith(".making")]


def test_what_does_not_compile_is_an_error_and_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("REACTANT_CUDA_CACHE", str(tmp_path))
    monkeypatch.setattr(library, "FLAGS", ("-DREACTANT_ABI_VERSION=0", "-include", "nowhere.h"))
    monkeypatch.setattr(library, "digest", lambda: "none")
    (tmp_path / "one.cpp").write_text("")
    monkeypatch.setattr(library, "RUNTIME", tmp_path)
    with pytest.raises(library.RuntimeLibraryError, match="nowhere.h"):
        library.home(toolchain())
    assert not list(tmp_path.glob("none-*/lib64"))
