"""`reactant launch`: start a script as several processes on this machine, which find each other."""
from __future__ import annotations

import argparse
from pathlib import Path

from reactant.cli.usage import UsageError

HELP = "start a script as several processes of one program, and again from its last checkpoint where one fails"
RESTARTS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--processes", type=int, required=True, metavar="N", help="how many processes")
    parser.add_argument("--devices-per-process", type=int, metavar="K",
                        help="devices of each process: as many GPUs (default 1), or so many as a CPU counts for")
    parser.add_argument("--checkpoint", type=Path, metavar="DIR",
                        help="where reactant.Checkpoints() keeps the program's state")
    parser.add_argument("--restart", action="store_true",
                        help="when a process is lost, start all again; they go on from the last complete checkpoint")
    parser.add_argument("--max-restarts", type=int, metavar="N", help=f"how often (default {RESTARTS})")
    parser.add_argument("--min-processes", type=int, metavar="M",
                        help="start again with one process fewer each time, down to M (default: with as many)")
    parser.add_argument("--patience", type=float, default=15.0, metavar="SECONDS",
                        help="how long one process waits for another before that is taken for lost (default 15)")
    parser.add_argument("--prints", choices=("first", "all"), default="first",
                        help="what is seen of standard output: the first process's (default), or all, numbered")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT", help="what to run, as python would")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its arguments")


def run(options: argparse.Namespace) -> int:
    _require(options)
    from reactant.processes.launch import Plan, launch, program

    restarts = RESTARTS if options.max_restarts is None else options.max_restarts
    return launch(Plan(
        program(options.script, options.module, options.arguments), options.processes, options.devices_per_process,
        options.patience, str(options.checkpoint.resolve()) if options.checkpoint else None,
        restarts if options.restart else 0, options.min_processes, options.prints))


def _require(options: argparse.Namespace) -> None:
    for name in ("processes", "devices_per_process", "min_processes"):
        if (given := getattr(options, name)) is not None and given < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {given}")
    if options.min_processes is not None and options.min_processes > options.processes:
        raise UsageError(f"--min-processes {options.min_processes} is more than -n {options.processes}")
    if options.patience < 1:
        raise UsageError(f"--patience must be at least 1 second, not {options.patience:g}")
    if not options.restart and (options.max_restarts is not None or options.min_processes is not None):
        raise UsageError("--max-restarts and --min-processes say how to start again: give --restart, too")
    if options.restart and options.checkpoint is None:
        raise UsageError("--restart goes on from a checkpoint: give --checkpoint DIR, where reactant.Checkpoints() is")
    if not options.module and not Path(options.script).is_file():
        raise UsageError(f"cannot read '{options.script}': there is no such file")
