"""The peer's side of `corpus.py`: enzyme-ad's optimiser against plain JAX, a JSON line a program.

    python benchmarks/corpus_peer.py SCALE REPEATS NAME ...        (an environment with jax and enzyme-ad)
"""
import importlib.util
import json
import sys
from pathlib import Path

import jax


def sibling(name):
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def timed(functions, repeats):
    """As `reactant.demos.measure.taking_turns`, which is not in the peer's environment."""
    import statistics
    import time
    seconds = {name: [] for name in functions}
    for function in functions.values():
        jax.block_until_ready(function())
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            jax.block_until_ready(function())
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in seconds.items()}


def measure(name, scale, repeats):
    from enzyme_ad.jax import JaXPipeline, enzyme_jax_ir, full_optimization_pass_pipeline

    function, make = (sibling("corpus_programs").PROGRAMS | sibling("gradient_programs").PROGRAMS)[name]
    arguments = make(scale)
    static = {i: a for i, a in enumerate(arguments) if isinstance(a, int)}
    arrays = tuple(a for i, a in enumerate(arguments) if i not in static)

    def call(*given):
        rest = iter(given)
        return function(*(static[i] if i in static else next(rest) for i in range(len(arguments))))
    plain = jax.jit(call)
    passes = JaXPipeline(full_optimization_pass_pipeline())
    peer = jax.jit(enzyme_jax_ir(pipeline_options=passes, argv=("-resource-dir", "."))(call))
    row = timed({"jax": lambda: plain(*arrays), "peer": lambda: peer(*arrays)}, repeats)
    return {"program": name, **row, "over_jax": row["jax"] / row["peer"]}


def main():
    scale, repeats = float(sys.argv[1]), int(sys.argv[2])
    for name in sys.argv[3:]:
        try:
            row = measure(name, scale, repeats)
        except Exception as error:
            row = {"program": name, "error": f"{type(error).__name__}: {str(error)[:300]}"}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
