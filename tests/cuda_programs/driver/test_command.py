"""`reactant nvcc`: what it writes for each mode of the command line."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reactant.cli import main
from reactant.cuda_programs.driver import command
from reactant.cuda_programs.driver.library import home
from reactant.cuda_programs.driver.options import CommandLineError
from reactant.cuda_programs.driver.toolchain import toolchain

PROGRAMS = Path(__file__).parents[1] / "programs"
KERNEL = """
__global__ void fill(int *x, int v) { x[threadIdx.x] = v; }
extern "C" int *filled(int v) {
    int *x;
    cudaMallocManaged(&x, 256), fill<<<1, 64>>>(x, v), cudaDeviceSynchronize();
    return x;
}
#ifdef MAIN
int main() { return filled(MAIN)[63]; }
#endif
"""


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("fill.cu").write_text(KERNEL)
    return "fill.cu"


def environment():
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_questions_are_answered_without_a_compiler(capsys):
    assert main(["nvcc", "--version"]) == 0
    assert "release 12.4, V12.4.131" in capsys.readouterr().out
    assert main(["nvcc", "--help"]) == 0 and main(["nvcc", "--list-gpu-arch"]) == 0
    assert "reactant nvcc" in capsys.readouterr().out


@pytest.mark.parametrize("words, said", [
    (["--no-such", "a.cu"], "unknown option '--no-such'"), (["nowhere.cu"], "there is no file 'nowhere.cu'"),
    ([], "no file is named"), (["-Xcompiler"], "lacks its value")])
def test_mistakes_are_one_line_that_names_them(words, said, capsys):
    assert main(["nvcc", *words]) == 2
    assert said in capsys.readouterr().err


def test_files_of_no_kind(tmp_path):
    (tmp_path / "a.xyz").write_text("")
    with pytest.raises(CommandLineError, match="its name says neither"):
        command.main([str(tmp_path / "a.xyz")])


def test_objects_executables_libraries_texts(source, capfd):
    assert command.main(["-c", source, "-MD", "-MF", "fill.d", "-DMAIN=5", "-std=c++14"]) == 0
    assert Path("fill.o").exists() and Path("fill.d").read_text().startswith("fill.o: fill.cu")
    assert command.main(["fill.o", "-o", "five"]) == 0
    assert subprocess.run(["./five"], check=False).returncode == 5
    assert command.main(["-shared", "-Xcompiler", "-fPIC", source, "-o", "libfill.so"]) == 0
    program = """
import ctypes
library = ctypes.CDLL("./libfill.so")
library.filled.restype = ctypes.POINTER(ctypes.c_int)
found = library.filled(9)
print(*(found[k] for k in range(64)))"""
    # in a process of its own: a worker of the tests that had loaded much else once read what was in memory before
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["9"] * 64, done.stderr
    assert command.main(["-ptx", source]) == 0 and ".visible .entry _Z4fillPii" in Path("fill.ptx").read_text()
    assert command.main(["-dlink", "fill.o", "-o", "link.o"]) == 0 and Path("link.o").exists()
    assert command.main(["-lib", "fill.o", "-o", "libfill.a"]) == 0 and Path("libfill.a").exists()
    capfd.readouterr()
    assert command.main(["-M", source]) == 0 and capfd.readouterr().out.startswith("fill.o: fill.cu")
    assert command.main(["-E", "-DMAIN=3", source]) == 0 and "filled(3)" in capfd.readouterr().out
    assert command.main(["-v", source, "-DMAIN=0", "-o", "x", "--run"]) == 0
    assert "#$ TOP=" in capfd.readouterr().err


def test_errors_of_the_compiler_are_its_own(source, capfd):
    Path("bad.cu").write_text("__global__ void f(int *x) { x[0] = y; }\nint main() { cudaNoSuchFunction(); }\n")
    assert command.main(["-c", "bad.cu"]) == 1
    said = capfd.readouterr().err
    assert "bad.cu:1:36: error: use of undeclared identifier 'y'" in said and "'cudaNoSuchFunction'" in said
    assert said.count("undeclared identifier 'y'") == 1 and not Path("bad.o").exists()
    Path("lost.cu").write_text("void elsewhere();\nint main() { elsewhere(); }\n")
    assert command.main(["lost.cu", "-o", "lost"]) == 1
    assert "elsewhere" in capfd.readouterr().err


@pytest.mark.slow
def test_a_makefile_of_several_files_with_device_functions_in_others(tmp_path):
    folder = shutil.copytree(PROGRAMS, tmp_path / "project")
    done = subprocess.run(["make", "-s", "NVCC=" + f"{sys.executable} -m reactant nvcc", "parts"], cwd=folder,
                          env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    said = subprocess.run([folder / "parts"], capture_output=True, text=True, check=True).stdout
    assert said == "counter 11\n310 11 2\n"


def test_c_files_see_the_runtime(built, tmp_path):
    main_file = tmp_path / "main.cpp"
    main_file.write_text('extern "C" int device_count(); int main() { return device_count(); }')
    assert subprocess.run([built("plain.c", str(main_file))], check=False).returncode == 8


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not here")
def test_cmake_builds_with_it_as_cuda_compiler(tmp_path, source):
    Path("CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(demo LANGUAGES CXX CUDA)\nset(CMAKE_CUDA_ARCHITECTURES 80)\n"
        "find_package(CUDAToolkit REQUIRED)\nadd_library(part STATIC fill.cu)\nadd_executable(demo main.cpp)\n"
        "target_link_libraries(demo part CUDA::cudart)\n")
    Path("main.cpp").write_text('#include <cuda_runtime.h>\nextern "C" int *filled(int);\n'
                                "int main() { int *x = filled(6); cudaDeviceSynchronize(); return x[63]; }")
    compiler = home(toolchain()) / "bin" / "nvcc"
    for words in (["-S", ".", "-B", "b", f"-DCMAKE_CUDA_COMPILER={compiler}"], ["--build", "b"]):
        done = subprocess.run(["cmake", *words], capture_output=True, text=True, env=environment())
        assert done.returncode == 0, done.stdout + done.stderr
    assert subprocess.run(["b/demo"], check=False).returncode == 6
