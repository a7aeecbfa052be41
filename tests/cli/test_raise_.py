import pytest

from reactant.__main__ import main

pytest.importorskip("ziglang", reason="needs ziglang")

SOURCE = """
#ifndef FACTOR
#define FACTOR 1
#endif
template <class T> __global__ void scale(T *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= FACTOR;
}
__global__ void saxpy(float *y, const float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""
LAUNCH = ["--grid", "4", "--block", "32", "--args", "float32[100]", "float32[100]", "float32", "100"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernels.cu"
    path.write_text(SOURCE)
    return str(path)


@pytest.mark.parametrize("stage, words", [
    ("explain", ["saxpy: raised to a tensor program"]), ("llvm", ["define void @kernel.saxpy", "!dbg"]),
    ("ingest", ["func.func @kernel", "llvm.load"]), ("pointers", ["memref.load", "cf.cond_br"]),
    ("structured", ["scf.if"]), ("counted", ["scf.if", "memref.store"]), ("tensors", ["stablehlo.multiply"]),
    ("optimised", ["stablehlo.multiply", "stablehlo.add"]), ("native", ["define", "fmul"]),
    ("ptx", [".visible .entry saxpy_", ".reqntid 32, 1, 1", "mul.rn.f32"])])
def test_stages(file, capsys, stage, words):
    assert main(["raise", file, *LAUNCH, "--stage", stage]) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in words)


def test_what_runs_on_a_gpu(tmp_path, capsys):
    (tmp_path / "f.cu").write_text("__global__ void first(int *x, int *width) {\n"
                                   "    x[threadIdx.x] = __shfl_sync(~0u, x[threadIdx.x], 0, *width);\n}\n")
    launch = ["raise", str(tmp_path / "f.cu"), "--block", "32", "--args", "int32[32]", "int32[1]"]
    assert main([*launch, "--target", "gpu"]) == 0
    assert main(launch) == 0
    assert [line.split(": ", 1)[1] for line in capsys.readouterr().out.splitlines() if line.startswith("first")] == \
        ["runs as itself on the GPU (PTX)", "compiled for the CPU"]


def test_templates_and_macros(file, capsys):
    assert main(["raise", file, "--kernel", "scale<double>", "--block", "8", "--args", "float64[8]", "8", "--define",
                 "FACTOR=7", "--stage", "tensors"]) == 0
    assert "7.000000e+00" in capsys.readouterr().out


def test_other_languages(tmp_path, capsys):
    (tmp_path / "f.c").write_text("void twice(double *x, int n) { for (int i = 0; i < n; i++) x[i] *= 2; }\n")
    (tmp_path / "f.ll").write_text("define void @one(ptr %x) {\n  store i32 1, ptr %x\n  ret void\n}\n")
    assert main(["raise", str(tmp_path / "f.c"), "--args", "float64[8]", "8"]) == 0
    assert main(["raise", str(tmp_path / "f.ll"), "--args", "int32[1]", "--stage", "counted"]) == 0
    assert "twice:" in (printed := capsys.readouterr().out) and "memref.store" in printed


def test_numba(tmp_path, capsys):
    pytest.importorskip("numba.cuda", reason="needs numba-cuda")
    (tmp_path / "kernels.py").write_text("from numba import cuda\n\n\n@cuda.jit\ndef one(x):\n"
                                         "    x[cuda.grid(1)] = 1\n")
    assert main(["raise", str(tmp_path / "kernels.py"), "--block", "4", "--args", "float64[4]"]) == 0
    assert "one: raised to a tensor program" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, message", [
    (["none.cu"], "there is no such file"),
    (["FILE", "--kernel", "saxpi"], "unknown kernel 'saxpi'; did you mean saxpy"),
    (["FILE", "--kernel", "zzz"], "unknown kernel 'zzz'; 'FILE' has saxpy"),
    (["FILE", "--args", "flot32[3]"], "'flot32' is no dtype"),
    (["FILE", "--args", "object[3]"], "'object' is no dtype of numbers"), (["FILE", "--grid", "4;2"], "is no size"),
    (["FILE", "--args", "3"], "takes 4 arguments, 1 given")])
def test_mistakes(file, capsys, arguments, message):
    assert main(["raise", *[file if a == "FILE" else a for a in arguments]]) == 2
    assert message.replace("FILE", file) in capsys.readouterr().err


@pytest.mark.parametrize("name, text, message", [
    ("f.txt", "hello", "is none of the files that hold kernels: .cu,"),
    ("f.cu", "int f() { return 1; }", "has no kernels"),
    ("f.py", "import no_such_module", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
    ("f.py", "from numba import cuda\n\n\n@cuda.jit\ndef one(x):\n    x[0, 0] = 1\n", "Numba cannot compile"),
    ("f.ll", "define void @f(ptr %x) {\n  %p = getelementptr i32, ptr %x, i32 9\n  store i32 1, ptr %p\n"
             "  ret void\n}\n",
     "the launch accesses element 9.")])
def test_files_that_cannot_be_raised(tmp_path, capsys, name, text, message):
    if name == "f.py":
        pytest.importorskip("numba.cuda", reason="needs numba-cuda")
    (tmp_path / name).write_text(text)
    assert main(["raise", str(tmp_path / name), "--args", "int32[4]"]) == 2
    assert message in capsys.readouterr().err
