"""In a process of its own: compile the programs of a folder, and say of each whether the cache had it and whether the
result is NumPy's."""
import importlib
import json
import sys
import warnings
from pathlib import Path

import jax
import numpy as np

import reactant
from reactant.calling import recalled

warnings.simplefilter("ignore")


def main(folder):
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    square, told = np.square, {}
    for path in sorted(Path(folder).glob("*_main.py")):
        np.square = square
        module = importlib.import_module(path.stem)
        arguments, wanted_arguments = module.arguments(), module.arguments()
        before = dict(recalled.COUNTS)
        recalled.REASONS.clear()
        compiled = module.compiled() if hasattr(module, "compiled") else reactant.jit(
            module.f, **getattr(module, "OPTIONS", {}))
        try:
            result = compiled(*arguments)
        except Exception as error:
            told[path.stem] = ["failed", False, repr(error)]
            continue
        found = recalled.COUNTS["found"] > before["found"]
        kept = recalled.COUNTS["kept"] > before["kept"]
        wanted = getattr(module, "wanted", module.f)(*wanted_arguments) if not hasattr(module, "WANTED") \
            else module.WANTED
        same = json.dumps(told_of(result)) == json.dumps(told_of(wanted)) \
            and json.dumps(told_of(arguments)) == json.dumps(told_of(wanted_arguments))
        told[path.stem] = ["found" if found else "kept" if kept else "not kept", same,
                           "; ".join(recalled.REASONS.values())]
    print(json.dumps(told))


def told_of(x):
    """A result as what JSON has, types of arrays and numbers included; floats to ten digits."""
    if isinstance(x, jax.Array):
        return told_of(np.asarray(jax.random.key_data(x) if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x))
    if isinstance(x, (np.ndarray, np.generic)):
        exact = x.dtype.kind not in "fc"
        return [type(x).__name__, str(x.dtype), x.shape, x.tobytes().hex() if exact else repr(
            [f"{v:.9g}" for v in x.astype(np.complex128 if x.dtype.kind == "c" else float).ravel().tolist()])]
    if isinstance(x, dict):
        return {str(k): told_of(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *map(told_of, x)]
    if hasattr(x, "__dict__") and not isinstance(x, type) and not callable(x):
        return [type(x).__name__, told_of(vars(x))]
    return repr(x) if not callable(x) else getattr(x, "__qualname__", type(x).__name__)


if __name__ == "__main__":
    main(sys.argv[1])
