"""Speed of the rewrite engine: microseconds an operation and a rewrite, growth with module size, beside XLA's time.

    python benchmarks/rewrite_speed.py            a table
    python benchmarks/rewrite_speed.py --xla      with XLA's compile time beside it
    python benchmarks/rewrite_speed.py --mlir     with MLIR's own greedy driver (private to jaxlib) beside ours
"""
from __future__ import annotations

import sys
from time import process_time

import numpy as np
from jaxlib.mlir import ir

from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import tensor_type


def module_of(layers: int) -> ir.Module:
    """A chain of layers as a tracer emits them: products, biases, views, activations; about 20 ops a layer."""
    with building():
        module = ir.Module.create()
        matrix = tensor_type((64, 64), np.dtype(np.float32))
        with ir.InsertionPoint(module.body):
            kind = ir.TypeAttr.get(ir.FunctionType.get([matrix, matrix], [matrix]))
            main = ops.create("func.func", [], [], {"sym_name": ir.StringAttr.get("main"), "function_type": kind}, 1)
        block = main.regions[0].blocks.append(matrix, matrix, arg_locs=[ir.Location.unknown()] * 2)
        with ir.InsertionPoint(block):
            x, w = block.arguments
            for layer in range(layers):
                x = _layer(x, w, layer)
            ops.create("func.return", [], [x])
        return module


def _layer(x: ir.Value, w: ir.Value, layer: int) -> ir.Value:
    h = ops.dot_general(ops.transpose(x, (1, 0)), w, contracting_dims=((0,), (0,)))
    h = ops.add(h, ops.broadcast_in_dim(ops.constant(np.arange(64) * (layer + 1), np.float32), (64, 64), (1,)))
    h = ops.reshape(ops.reshape(h, (4096,)), (64, 64))
    h = ops.negate(ops.negate(ops.multiply(h, ops.splat(1, h))))
    top = ops.slice(h, (0, 0), (32, 64))
    bottom = ops.slice(h, (32, 0), (64, 64))
    h = ops.concatenate([top, bottom], 0)
    total = ops.broadcast_in_dim(ops.reduce(h, 0.0, (1,), "add"), (64, 64), (0,))
    return ops.tanh(ops.subtract(h, ops.divide(total, 64.0)))


def best(function: object, repeat: int = 3) -> float:
    times = []
    for _ in range(repeat):
        started = process_time()
        function()
        times.append(process_time() - started)
    return min(times)


def measure(layers: int) -> dict[str, float]:
    with building():
        source = module_of(layers)
        count = modules.size(source)
        copies = iter([modules.clone(source) for _ in range(3)])
        reports = []
        seconds = best(lambda: reports.append(pipelines.run(next(copies))))
        report = reports[-1]
        quiet = modules.clone(source)
        pipelines.run(quiet)
        again = best(lambda: pipelines.run(quiet))
    return {"operations": count, "after": report.operations_after, "rewrites": report.rewrites, "ms": 1e3 * seconds,
            "us/op": 1e6 * seconds / count, "us/rewrite": 1e6 * seconds / max(report.rewrites, 1),
            "us/op at rest": 1e6 * again / max(report.operations_after, 1)}


def mlir_at_rest(layers: int) -> dict[str, float]:
    """MLIR's greedy driver on a settled module, calling our own matching for every op, beside our worklist."""
    from jaxlib.mlir._mlir_libs._mlir import rewrite as private  # private to jaxlib; only this measurement uses it

    from reactant.rewrite import RuleSet, registry
    from reactant.rewrite.driver import _Run
    from reactant.rewrite.memory import Memory, identity
    from reactant.rewrite.report import Report
    with building():
        module = module_of(layers)
        families = set(pipelines.SIMPLIFY.families)
        rules = RuleSet(tuple(r for r in registry.rules() if r.family in families and not r.changes and not r.assumes))
        while rules.apply(module.operation):
            pass
        count = modules.size(module)
        run = _Run(rules.table, Report(), None, False, False, Memory())

        def callback(op: ir.OpView, _: object) -> bool:
            here, address = op.operation, identity(op.operation)
            run.visit(here, address, run.look(here, address, rules.table[here.name], None), [])
            return True
        patterns = private.RewritePatternSet()
        for name in {op.name for op in modules.walk(module)} & set(rules.table):
            patterns.add(name, callback)
        frozen, config = patterns.freeze(), private.GreedyRewriteConfig()
        config.enable_folding = False
        theirs = best(lambda: private.apply_patterns_and_fold_greedily(module, frozen, config))
        ours = best(lambda: rules.apply(module.operation))
    return {"us/op at rest, ours": 1e6 * ours / count, "MLIR's driver": 1e6 * theirs / count}


def xla_seconds(layers: int) -> float:
    """XLA's compile time of the unoptimised module."""
    import jax
    text = modules.to_text(module_of(layers), large_elements=None)
    client = jax.devices()[0].client
    started = process_time()
    client.compile_and_load(text, jax.devices()[:1])
    return process_time() - started


def main() -> None:
    measure(2)
    for layers in (25, 50, 100, 250):
        row = measure(layers)
        if "--xla" in sys.argv:
            row["xla ms"] = 1e3 * xla_seconds(layers)
        if "--mlir" in sys.argv:
            row |= mlir_at_rest(layers)
        print("  ".join(f"{key} {value:.6g}" if isinstance(value, int) else f"{key} {value:.2f}"
                        for key, value in row.items()))


if __name__ == "__main__":
    main()
