"""How much longer `import reactant` takes than `import jax`, in milliseconds (medians of interleaved new processes).

    python benchmarks/import_time.py [--repeats N] [--limit MILLISECONDS] [--json FILE]
"""
import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

_CHILD = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def import_seconds(module):
    """Seconds that one `import module` takes in a new interpreter, interpreter start not counted."""
    done = subprocess.run([sys.executable, "-c", _CHILD.format(module)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--limit", type=float, help="fail when the difference is above this many milliseconds")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    runs = {"jax": [], "reactant": []}
    for module in runs:
        import_seconds(module)  # fill the file cache and the byte code
    for _ in range(options.repeats):
        for module, seconds in runs.items():
            seconds.append(import_seconds(module))
    medians = {module: 1e3 * statistics.median(seconds) for module, seconds in runs.items()}
    medians["difference"] = medians["reactant"] - medians["jax"]
    print("milliseconds: " + ", ".join(f"{name} {value:.0f}" for name, value in medians.items()))
    if options.json:
        options.json.write_text(json.dumps(medians, indent=1))
    return int(options.limit is not None and medians["difference"] > options.limit)


if __name__ == "__main__":
    sys.exit(main())
