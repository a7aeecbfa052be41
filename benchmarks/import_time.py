"""How much longer `import reactant` takes than `import jax`, and what the first program of a process costs until XLA
gets it (what is loaded late is in it), in milliseconds: medians of interleaved new processes.

    python benchmarks/import_time.py [--repeats N] [--limit MILLISECONDS] [--json FILE]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

_CHILD = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
_FIRST = ("import jax, numpy, reactant, time; x = numpy.ones(3); jax.numpy.sin(x); start = time.perf_counter(); "
          "{}.jit(jax.numpy.sin).lower(x); print(time.perf_counter() - start)")


def seconds_of(program):
    """Seconds that a program prints, run in a new interpreter."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}      # as installed
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def import_seconds(module):
    """Seconds that one `import module` takes in a new interpreter, interpreter start not counted."""
    return seconds_of(_CHILD.format(module))


def first_seconds(module):
    """Seconds until the first program of a process, one `sin`, is lowered by `module.jit`."""
    return seconds_of(_FIRST.format(module))


def medians_of(measure, repeats):
    """Milliseconds with jax, with reactant, and the difference."""
    runs = {"jax": [], "reactant": []}
    for module in runs:
        measure(module)  # fill the file cache and the byte code
    for _ in range(repeats):
        for module, seconds in runs.items():
            seconds.append(measure(module))
    medians = {module: 1e3 * statistics.median(seconds) for module, seconds in runs.items()}
    return medians | {"difference": medians["reactant"] - medians["jax"]}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--limit", type=float, help="fail when the imports' difference is above this many milliseconds")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    rows = {"import": medians_of(import_seconds, options.repeats),
            "first program": medians_of(first_seconds, options.repeats)}
    for name, medians in rows.items():
        print(f"{name}, milliseconds: " + ", ".join(f"{of} {value:.0f}" for of, value in medians.items()))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return int(options.limit is not None and rows["import"]["difference"] > options.limit)


if __name__ == "__main__":
    sys.exit(main())
