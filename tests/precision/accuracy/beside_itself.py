"""Modules beside themselves in more precision, run."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reactant.digits.measured import QUICKLY, Program
from reactant.ir import modules
from reactant.ir.context import building
from reactant.options import CompileOptions
from reactant.precision.accuracy.beside import shadow
from reactant.runtime.executable import Executable


def program(text: str, *arguments: np.ndarray) -> Program:
    """A module of this text, whose function `@main` takes the arguments."""
    with building():
        made = shadow(modules.parse(text), CompileOptions())
        executable = Executable(made.module, name="beside", xla_options=QUICKLY)
    return Program(made, executable, [np.asarray(each) for each in arguments],
                   [f"result {k}" for k in range(len(made.outputs))])


def function(body: str, arguments: Sequence[str], results: Sequence[str]) -> str:
    """The text of a module with one function, `%arg0` and so on its arguments."""
    given = ", ".join(f"%arg{k}: tensor<{each}>" for k, each in enumerate(arguments))
    return f"""module {{ func.func public @main({given}) -> ({', '.join(f'tensor<{each}>' for each in results)}) {{
        {body}
    }} }}"""
