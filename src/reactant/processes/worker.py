"""What `reactant launch` starts: join the others, then run the script as Python would."""
from __future__ import annotations

import runpy
import sys
from pathlib import Path

from reactant.processes.peers import cluster


def main(arguments: list[str]) -> None:
    """arguments: `script` or `module`, its name, and its own arguments."""
    kind, name, *rest = arguments
    cluster()
    sys.argv = [name, *rest]
    if kind == "module":
        sys.path[0] = ""
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(name).resolve().parent)
        runpy.run_path(name, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
