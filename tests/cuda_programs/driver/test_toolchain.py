"""Which compiler and linker: the machine's where there is one, the package's where it is asked for."""
import os
import shutil
from pathlib import Path

import pytest

from reactant.cuda_programs.driver.options import CommandLineError
from reactant.cuda_programs.driver.toolchain import toolchain
from reactant.errors import UnsupportedError

HAS_COMPILER = shutil.which("g++") is not None


@pytest.mark.skipif(not HAS_COMPILER, reason="no C++ compiler here")
def test_the_machines_own(monkeypatch):
    monkeypatch.delenv("REACTANT_CUDA_HOST", raising=False)
    tools = toolchain()
    assert tools.name == "machine" and tools.linker[0].endswith("g++") and "-resource-dir" in tools.system()
    named = toolchain(shutil.which("g++"))
    assert any(flag.startswith("--gcc-install-dir=") for flag in named.system())
    assert toolchain(str(Path(shutil.which("g++")).parent)).linker == named.linker


def test_the_packages(monkeypatch):
    monkeypatch.setenv("REACTANT_CUDA_HOST", "packaged")
    tools = toolchain()
    assert tools.name == "packaged" and tools.linker == (str(tools.zig), "c++") and os.access(tools.zig, os.X_OK)
    assert "-nostdinc" in tools.system() and tools.compiler(False)[:2] == [str(tools.zig), "clang"]


def test_without_a_compiler_on_the_machine(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *a, **k: None)
    monkeypatch.delenv("REACTANT_CUDA_HOST", raising=False)
    assert toolchain().name == "packaged"
    monkeypatch.setenv("REACTANT_CUDA_HOST", "machine")
    with pytest.raises(UnsupportedError, match="there is no C\\+\\+ compiler"):
        toolchain()


@pytest.mark.parametrize("environment, compiler, said", [
    ("other", "", "REACTANT_CUDA_HOST=other names no toolchain"),
    ("", "/no/such/g++", "there is no C++ compiler '/no/such/g++'")])
def test_names_of_nothing(monkeypatch, environment, compiler, said):
    monkeypatch.setenv("REACTANT_CUDA_HOST", environment)
    with pytest.raises(CommandLineError) as caught:
        toolchain(compiler)
    assert said in caught.value.fact
