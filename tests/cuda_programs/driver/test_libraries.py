"""Which libraries a command line names; archives that are made once; linkers' words that say what lacks."""
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from reactant.cuda_programs.driver import command, libraries, library, linking
from reactant.cuda_programs.driver.options import parse
from reactant.cuda_programs.driver.toolchain import INCLUDE, toolchain

HEADERS = {"cublas": ["cublas_v2.h", "cublas.h"], "cufft": ["cufft.h"], "curand": ["curand.h"],
           "cusparse": ["cusparse.h"], "cusolver": ["cusolverDn.h"], "nccl": ["nccl.h"]}


def test_options():
    assert libraries.wanted(["-lcublas", "-lm", "-lcufft_static_nocallback", "-lcublas_static"]) == ["cublas", "cufft"]
    assert libraries.is_one("-lcusolver") and libraries.is_one("-lculibos") and not libraries.is_one("-lcurandom")


def test_what_linkers_call_undefined():
    said = """/usr/bin/ld: a.o: in function `main':
a.cu:(.text+0x1d): undefined reference to `cublasCreate_v2'
a.cu:(.text+0x2d): undefined reference to `cublasSgemm_v2'
ld.lld: error: undefined symbol: cusolverDnCreate
b.cu: undefined reference to `mine'"""
    assert libraries.missing(said) == [
        "reactant: cublasCreate_v2 is a function of cuBLAS: add -lcublas to the command line",
        "reactant: cusolverDnCreate is a function of cuSOLVER: add -lcusolver to the command line"]


def test_archives_come_last_and_without_what_nothing_is_needed_of(monkeypatch):
    monkeypatch.setattr(libraries, "archive", lambda tools, name: Path(f"/there/lib{name}.a"))
    parsed = parse(["-lcufft", "-lculibos", "a.o", "-lm", "-lcublas"])
    words = linking.link_command(parsed, toolchain(), parsed.inputs, "a")
    assert [w for w in words if w.startswith("/there") or w in ("a.o", "-lm", "-lculibos")][:4] == [
        "a.o", "-lm", "/there/libcufft.a", "/there/libcublas.a"]
    assert words.index("/there/libcublas.a") < next(k for k, w in enumerate(words) if w.endswith("libcudart_static.a"))


def test_a_library_that_is_not_named_is_named_by_the_error(tmp_path, capfd):
    source = tmp_path / "a.cu"
    source.write_text("#include <curand.h>\nint main() { int v; return curandGetVersion(&v); }\n")
    assert command.main([str(source), "-o", str(tmp_path / "a")]) != 0
    assert "curandGetVersion is a function of cuRAND: add -lcurand" in capfd.readouterr().err


def test_a_call_that_is_not_there_is_an_error_of_the_compiler(tmp_path, capfd):
    source = tmp_path / "a.cu"
    source.write_text("#include <cusparse.h>\nint main() { cusparseSpVV(0, 0); }\n")
    assert command.main(["-c", str(source), "-o", str(tmp_path / "a.o")]) != 0
    assert "cusparseSpVV" in capfd.readouterr().err


@pytest.mark.parametrize("name", [name for names in HEADERS.values() for name in names])
def test_headers_are_of_c_and_cplusplus(name, tmp_path):
    for suffix in ("c", "cpp"):
        (tmp_path / f"a.{suffix}").write_text(f"#include <{name}>\nint main(void) {{ return 0; }}\n")
        words = toolchain().compiler(suffix == "cpp")
        subprocess.run([*words, "-fsyntax-only", "-Wall", "-Werror", "-idirafter", str(INCLUDE),
                        str(tmp_path / f"a.{suffix}")], check=True)


def test_direction_numbers_are_sobols():
    """Each is odd above its place, and none repeats a place of another bit."""
    numbers = np.frombuffer(libraries.directions(50), np.uint32).reshape(50, 32)
    for bit in range(32):
        assert (numbers[:, bit] >> np.uint32(31 - bit) & 1 == 1).all()
        assert bit == 31 or (numbers[:, bit] & np.uint32((1 << (31 - bit)) - 1) == 0).all()


def test_openblas_is_scipys():
    found = libraries.openblas()
    assert found is not None and found.name.startswith("libscipy_openblas")


@pytest.mark.slow
@pytest.mark.parametrize("name", HEADERS)
def test_every_function_that_is_declared_is_there(name, tmp_path):
    """What headers do not declare is an error of the compiler; what they declare has to link."""
    tools = toolchain()
    declared: set[str] = set()
    for header in HEADERS[name]:
        (tmp_path / "a.cpp").write_text(f"#include <{header}>\n")
        text = subprocess.run([*tools.compiler(), "-E", "-P", "-idirafter", str(INCLUDE), str(tmp_path / "a.cpp")],
                              capture_output=True, text=True, check=True).stdout
        text = re.sub(r'"\s+"', "", text)
        labels = dict(re.findall(r'\b(cu\w+)\s*\([^;{]*?\)\s*__asm__\("(\w+)"', text))
        plain = set(re.findall(r"\b(" + name + r"\w+)\s*\([^;{}]*\)\s*;", text))
        declared |= {labels.get(each, each) for each in plain} | set(labels.values())
    listed = subprocess.run(["nm", "-g", libraries.archive(tools, name)], capture_output=True, text=True,
                            check=True).stdout
    defined = set(re.findall(r" T (\w+)$", listed, re.M))
    assert len(declared) > 15
    assert declared - defined == set()


@pytest.mark.slow
def test_programs_say_what_they_lack(tmp_path, monkeypatch):
    """An archive that was compiled where there was no OpenBLAS, and a machine that has none."""
    monkeypatch.setattr(libraries, "openblas", lambda: None)
    source = tmp_path / "a.cu"
    source.write_text("#include <cusolverDn.h>\nint main() { cusolverDnHandle_t h; return cusolverDnCreate(&h); }\n")
    assert command.main([str(source), "-lcusolver", "-o", str(tmp_path / "a")]) == 0
    done = subprocess.run([tmp_path / "a"], capture_output=True, text=True, env={"PATH": "/usr/bin"}, check=False)
    assert done.returncode == 1 and "cuSOLVER needs OpenBLAS" in done.stderr and "REACTANT_OPENBLAS" in done.stderr


@pytest.mark.slow
def test_build_systems_find_them_where_the_runtime_is():
    tools = toolchain()
    folder = library.home(tools) / "lib64"
    libraries.all_in(tools, folder)
    assert all((folder / f"lib{name}.a").resolve().exists() for name in libraries.NAMES)


@pytest.mark.parametrize(("file", "all_of_them"), [("__cmake_determine_cuda", True), ("CMakeCUDACompilerId.cu", True),
                                                   ("app.cu", False)])
def test_only_cmake_is_shown_every_library(monkeypatch, file, all_of_them):
    shown = []
    monkeypatch.setattr(libraries, "all_in", lambda tools, folder: shown.append(folder))
    assert command.main(["--dryrun", "-v", file]) == 0
    assert bool(shown) == all_of_them
