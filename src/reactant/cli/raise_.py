"""`reactant raise`: a kernel step by step on its way from LLVM IR to tensors."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reactant.cli.usage import UsageError, argument, module_of, unknown

if TYPE_CHECKING:
    from reactant.kernels.form.record import KernelRecord

HELP = "show a kernel of a .cu, .c, .ll or .py file after any step of raising it to tensors"

STAGES = ("explain", "llvm", "ingest", "pointers", "structured", "counted", "tensors", "optimised", "native", "ptx")
SUFFIXES = (".cu", ".cuh", ".c", ".cc", ".cpp", ".ll", ".bc", ".py")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file",
                        help="CUDA C++ (.cu), C (.c), LLVM IR (.ll, .bc), or Python with numba.cuda kernels (.py)")
    parser.add_argument("--kernel", help="its name; may be left out when the file has one")
    parser.add_argument("--grid", default="1", help="blocks: 4 or 4,2 or 4,2,1 (default 1)")
    parser.add_argument("--block", default="1", help="threads of a block, likewise (default 1)")
    parser.add_argument("--shared", type=int, default=0, help="bytes of dynamic shared memory")
    parser.add_argument("--args", nargs="*", default=[], metavar="TYPE",
                        help="arguments: float32[100,200] is an array, float64 a run-time number, 100 or 0.5 a "
                             "constant")
    parser.add_argument("--stage", choices=STAGES, default="explain",
                        help="what to print: the outcome and its reasons (default), LLVM IR after clean-up, MLIR "
                             "after a "
                             "step, StableHLO as raised or after the default pipeline, LLVM IR of the native code, "
                             "assembly for NVIDIA's GPUs")
    parser.add_argument("--target", choices=("cpu", "gpu"),
                        help="what `explain` is about: where a kernel that is no tensor program runs")
    parser.add_argument("--define", action="append", default=[], metavar="NAME[=VALUE]", help="macro, may be repeated")
    parser.add_argument("--include", action="append", default=[], metavar="FOLDER", help="headers, may be repeated")


def run(options: argparse.Namespace) -> int:
    from reactant.ir.context import building
    from reactant.kernels.launch.inspection import lowering_of, record_of

    kernel = _kernel(options)
    arguments = [argument(text) for text in options.args]
    launch = kernel[_sizes(options.grid), _sizes(options.block), 0, options.shared]
    given = launch.with_variables(tuple(arguments), {})
    if options.stage == "explain":
        print(lowering_of(launch.way_in, launch.launch, given, options.target).explained())
        return 0
    with building():
        print(_text(record_of(launch.way_in, launch.launch, given), options.stage))
    return 0


def _text(record: KernelRecord, stage: str) -> str:
    from reactant import native, pipelines
    from reactant.kernels.lockstep import tensors
    from reactant.kernels.ptx import ptx
    from reactant.kernels.stages.stages import STAGES as STEPS
    from reactant.kernels.stages.stages import run_stages

    if stage == "llvm":
        return record.llvm
    if stage == "ptx":
        return ptx.compile_kernel(record).text
    if stage in STEPS:
        return str(run_stages(record, stage))
    if stage == "native":
        return native.compile_kernel(run_stages(record), "kernel").as_llvm(optimized=True)
    raised = tensors.raised(run_stages(record)).module
    if stage == "optimised":
        pipelines.run(raised, ("default",))
    return str(raised)


def _kernel(options: argparse.Namespace) -> Any:
    """The kernel as something to launch."""
    from reactant.kernel_calls import c, cuda, kernel, llvm
    from reactant.kernels.launch.launchable import Launchable

    path = Path(options.file)
    if not path.is_file():
        raise UsageError(f"cannot read '{options.file}': there is no such file")
    if path.suffix not in SUFFIXES:
        raise UsageError(f"'{options.file}' is none of the files that hold kernels: {', '.join(SUFFIXES)}")
    if path.suffix == ".py":
        return kernel(_choose(_numba_kernels(path), options))
    defines = dict((d.split("=", 1) if "=" in d else (d, True)) for d in options.define)
    if path.suffix in (".ll", ".bc"):
        module = llvm.load(path)
    elif path.suffix in (".c", ".cpp", ".cc"):
        module = c.load(path, defines=defines, include=options.include)
    else:
        wanted = [options.kernel] if options.kernel and "<" in options.kernel else []
        module = cuda.load(path, defines=defines, include=options.include, name_expressions=wanted)
    found = {name: name for name in module}
    if options.kernel and "<" in options.kernel:
        return module[options.kernel]
    chosen = module[_choose(found, options)]
    return chosen if isinstance(chosen, Launchable) else Launchable(chosen.way_in)


def _numba_kernels(path: Path) -> dict[str, Any]:
    from reactant.kernels.ways_in.numba_cuda import is_dispatcher

    module = module_of(path)
    return {name: x for name, x in vars(module).items() if is_dispatcher(x) and not x.targetoptions.get("device")}


def _choose(found: dict[str, Any], options: argparse.Namespace) -> Any:
    if not found:
        raise UsageError(f"'{options.file}' has no kernels")
    if options.kernel is None:
        if len(found) != 1:
            raise UsageError(f"'{options.file}' has {len(found)} kernels ({', '.join(found)}); name one with --kernel")
        return next(iter(found.values()))
    if options.kernel not in found:
        raise unknown("kernel", options.kernel, found, f"'{options.file}' has {', '.join(found)}")
    return found[options.kernel]


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"'{text}' is no size: one to three integers, as in 4,2") from None
