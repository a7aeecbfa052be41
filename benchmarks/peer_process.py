"""The peer's side of `peer.py`: runs programs through enzyme-ad in its own environment, as it is told line by line.

    PEER_PYTHON benchmarks/peer_process.py        (an environment with jax and enzyme-ad; JSON lines in and out)

{"load": PROGRAM, "scale": S, "form": FORM} compiles a program and answers with the difference from `jax.jit`, the
seconds that the first call took and the text of the optimised module; {"run": FORM, "seconds": S} answers with the
median seconds of a burst of runs of at least S, and "clock": "cpu" with those of all threads. FORM is one of `FORMS`.
"""
import importlib.util
import json
import os
import sys
import time
from pathlib import Path

import jax
from shared_programs import difference, prepared

HERE = Path(__file__).parent


def measure():
    """`reactant.demos.measure` by its file: reactant is not in this environment."""
    path = HERE.parent / "src" / "reactant" / "demos" / "measure.py"
    spec = importlib.util.spec_from_file_location("measure", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def optimised(function):
    """`function` through the peer's full pipeline, which is also what it does by default."""
    from enzyme_ad.jax import JaXPipeline, enzyme_jax_ir, full_optimization_pass_pipeline
    return enzyme_jax_ir(pipeline_options=JaXPipeline(full_optimization_pass_pipeline()))(function)


FORMS = {
    "primal": lambda call: (call, optimised(call)),
    "jax derivative": lambda call: (jax.grad(call), optimised(jax.grad(call))),
    "own derivative": lambda call: (jax.grad(call), jax.grad(optimised(call))),
}
"""(what JAX compiles, what the peer does): a derivative by JAX that the peer optimises, or the peer's own of the
optimised program."""


class Programs:
    """What was loaded, by form."""

    def __init__(self):
        self.measure, self.loaded = measure(), {}

    def load(self, name, scale, form):
        call, arrays = prepared(name, scale)
        plain, mine = (jax.jit(each) for each in FORMS[form](call))
        begun = time.perf_counter()
        results = mine(*arrays)
        seconds = time.perf_counter() - begun
        self.loaded[form] = lambda: mine(*arrays)
        return {"difference": difference(results, plain(*arrays)), "compile_seconds": seconds,
                "text": mine.lower(*arrays).as_text()}

    def answer(self, request):
        if "load" in request:
            return self.load(request["load"], request["scale"], request["form"])
        clock = self.measure.CLOCKS[request["clock"]]
        return {"seconds": self.measure.one_burst(self.loaded[request["run"]], request["seconds"], clock)}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the peer prints must not come between the answers
    programs = Programs()
    for line in sys.stdin:
        try:
            answer = programs.answer(json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
