"""Names to passes, options to rules, reports, and errors."""
import numpy as np
import pytest

from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.options import CompileOptions
from reactant.rewrite import RewriteError, match, registry, rewrite, variables
from reactant.rewrite.selftest import build_module

x, = variables("x")


def module(builder, dtype="float32"):
    with building():
        made = build_module(builder, np.dtype(dtype))
    assert made is not None
    return made


def left(made, *passes, **options):
    with building():
        report = pipelines.run(made, passes or "default", CompileOptions(**options), verify=True)
    return {name.removeprefix("stablehlo."): n for name, n in modules.counts(made).items()}, report


def program(a):
    v = a(2, 3)
    return ops.power(ops.transpose(ops.transpose(ops.negate(ops.negate(v)), (1, 0)), (1, 0)), 2.0)


def test_the_default_pipeline():
    counts, report = left(module(program))
    assert counts == {"multiply": 1}
    assert report.operations_before > report.operations_after == 1
    assert {"power_two", "transpose_of_transpose", "negate_of_negate"} & set(report.fired)
    assert [name for name, _ in report.passes][:2] == ["inline_calls", "simplify"]
    assert str(report).startswith(f"{report.operations_before} -> 1 operations, {report.rewrites} rewrites\n")


@pytest.mark.parametrize("passes, kept", [
    (("none",), {"negate", "transpose", "power", "constant"}), (("shape",), {"negate", "power", "constant"}),
    (("transpose_of_transpose",), {"negate", "power", "constant"}),
    (("shape.transpose_of_transpose", "negate_of_negate"), {"power", "constant"}),
    (("cse", "arithmetic"), {"transpose", "multiply"}),
    (pipelines.Fixpoint(("shape",)), {"negate", "power", "constant"})])
def test_passes_by_name(passes, kept):
    counts, _ = left(module(program), *(passes if isinstance(passes, tuple) else (passes,)))
    assert set(counts) == kept


def test_functions_are_passes():
    seen = []
    left(module(program), seen.append)
    assert len(seen) == 1


def test_unknown_names():
    with pytest.raises(pipelines.UnknownPass, match=r"(?s)No pipeline, family, rule or pass is called 'shapes'\..*"
                                                    r"Pipelines: none, simplify, .*; families: .*arithmetic"):
        pipelines.run(module(program), "shapes")
    with pytest.raises(pipelines.UnknownPass, match="3 is not a pass."):
        pipelines.run(module(program), 3)


def test_unknown_names_to_leave_out():
    with pytest.raises(pipelines.UnknownPass, match=r"(?s)without='power_tow': no family or rule is called so.*Did "
                                                    r"you mean 'power_two'.*Families: .*arithmetic"):
        pipelines.run(module(program), "simplify", options=CompileOptions(without=("shape", "power_tow")))


def test_names_lists_everything():
    names = pipelines.names()
    assert {"default", "simplify", "cse", "shape", "transpose_of_transpose"} <= set(names)
    assert all(pipelines.resolve(name) is not None for name in names)


def test_without_leaves_rules_and_families_out():
    assert left(module(program), "simplify", without=("power_two",))[0] == {"power": 1, "constant": 1}
    assert "transpose" in left(module(program), "simplify", without=("shape", "chains"))[0]
    assert left(module(program), "simplify", without=("arithmetic.power_two",))[0] == {"power": 1, "constant": 1}


def test_levels_of_exactness():
    def sums(a):
        return ops.add(ops.add(a(3), 1.5), 2.5)
    assert left(module(program), "simplify", allow=())[0] == {"power": 1, "constant": 1}
    assert left(module(sums), "simplify")[0]["add"] == 2
    assert left(module(sums), "simplify", allow=("rounding", "association"))[0]["add"] == 1


def test_finite():
    def zero(a):
        return ops.multiply(a(3), 0.0)
    assert left(module(zero), "simplify")[0]["multiply"] == 1
    assert left(module(zero), "simplify", finite=True)[0] == {"constant": 1}


def test_an_error_names_the_rule():
    with registry.scratch(), building():
        @rewrite(match.negate(x))
        def broken_rule(x):
            """Wrong type."""
            return ops.compare(x, x, "EQ")

        with pytest.raises(RewriteError, match="rule 'test_pipelines.broken_rule' gave a tensor<2x3xi1>"):
            pipelines.run(build_module(program, np.dtype("float32")), "broken_rule")


def test_a_pass_that_breaks_the_module_is_named():
    def vandal(made):
        power = next(op for op in modules.walk(made) if op.name == "stablehlo.power")
        block = modules.function(made).regions[0].blocks[0]
        power.operands[1] = block.add_argument(ops.tensor_type((9,), np.dtype("float32")), power.location)
    with building(), pytest.raises(modules.InvalidModule, match="pass 'vandal' broke the module"):
        pipelines.run(build_module(program, np.dtype("float32")), vandal, verify=True)


def test_calls_are_inlined():
    with building():
        made = modules.parse('''
          func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> { %0 = stablehlo.negate %x : tensor<3xf32>
            return %0 : tensor<3xf32> }
          func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
            %0 = call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>
            %1 = call @f(%0) : (tensor<3xf32>) -> tensor<3xf32>
            return %1 : tensor<3xf32> }''')
        assert left(made)[0] == {}


def test_a_family_that_is_not_there_is_an_error_not_nothing():
    with pytest.raises(KeyError, match="no family of rules called 'loop_chunks'"):
        pipelines.run(module(program), pipelines.Fixpoint(("shape", "loop_chunks")))
