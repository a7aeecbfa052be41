"""What the engine owns: erasure, type checks, blame, budget, dead ops, locations, nested regions, reports."""
import re
from pathlib import Path

import numpy as np
import pytest

import reactant.simplify
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.rewrite import (
    CHANGED,
    SWAPPED,
    NotConverged,
    NotConvergedWarning,
    Report,
    RewriteError,
    RuleSet,
    equations,
    match,
    once,
    pure,
    registry,
    rewrite,
    users,
    variables,
)
from reactant.rewrite.selftest import build_module

x, y = variables("x y")


@pytest.fixture(autouse=True)
def scratch():
    with registry.scratch(), building():
        yield


def rules(*names):
    return RuleSet(tuple(map(registry.rule, names)))


def module(builder, dtype="float32"):
    made = build_module(builder, np.dtype(dtype))
    assert made is not None
    return made


def names(made):
    return {name.removeprefix("stablehlo."): n for name, n in modules.counts(made).items()}


def test_a_rewrite_replaces_and_erases_what_is_dead():
    equations(twice=(match.negate(match.negate(x)), x))
    made = module(lambda a: ops.negate(ops.negate(ops.negate(a(3)))))
    assert rules("twice").apply(made.operation) == 1
    assert names(made) == {"negate": 1}


@pytest.mark.parametrize("asks", ["users", "once"])
def test_a_rule_that_counts_readers_is_asked_again_when_one_goes(asks):
    equations(nothing=(match.multiply(x, 0.0), 0.0))
    if asks == "users":
        @rewrite(match.abs(x))
        def lonely(x):
            """Rewrite what alone reads its operand."""
            return ops.sine(x) if users(x) == 1 else None
    else:
        equations(lonely=(match.abs(once(match.cosine(x))), match.sine(match.cosine(x))))

    def build(a):
        shared = ops.cosine(a(3))
        return ops.add(ops.abs(shared), ops.multiply(ops.exponential(shared), 0.0))
    assert rules("nothing", "lonely").apply(module(build).operation) == 2


def test_only_rules_for_whole_ops_look_at_uses_by_themselves():
    """Others have to ask by `users`, `readers`, `uses`, so that the engine knows when to ask them again."""
    general = {"loop_branches", "loop_places", "loop_reads", "loop_windows", "loops", "demand", "target_buffers",
               "target_loops", "target_versions"}
    rooms = Path(reactant.simplify.__file__).parent
    assert {path.stem for path in rooms.glob("*.py") if re.search(r"\.uses\b", path.read_text())} <= general


def test_declining_after_building_is_an_error_that_names_the_rule():
    @rewrite(match.negate(x))
    def indecisive(x):
        """Build, then decline."""
        ops.abs(x)

    with pytest.raises(RewriteError, match=r"rule 'test_driver.indecisive' built 1 ops and then declined; a rule "
                                           r"decides first.\n  on .*stablehlo.negate"):
        rules("indecisive").apply(module(lambda a: ops.negate(a(3))).operation)


def test_a_replacement_of_another_type_is_an_error():
    @rewrite(match.negate(x))
    def mistyped(x):
        """Another dtype."""
        return ops.convert(x, "float64")

    with pytest.raises(RewriteError, match="rule 'test_driver.mistyped' gave a tensor<3xf64> in place of a "
                                           "tensor<3xf32>"):
        rules("mistyped").apply(module(lambda a: ops.negate(a(3))).operation)


def test_the_number_of_values_is_checked():
    @rewrite(match.negate(x))
    def generous(x):
        """Two for one."""
        return [x, x]

    with pytest.raises(RewriteError, match="rule 'test_driver.generous' gave 2 values for 1 results."):
        rules("generous").apply(module(lambda a: ops.negate(a(3))).operation)


def test_an_exception_names_the_rule_and_the_users_line():
    @rewrite(match.negate(x))
    def failing(x):
        """Fail."""
        raise ZeroDivisionError("oh")

    made = modules.parse('func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n'
                         '%0 = stablehlo.negate %x : tensor<3xf32> loc("user.py":7:2)\nreturn %0 : tensor<3xf32>}')
    with pytest.raises(RewriteError, match=r"rule 'test_driver.failing' raised ZeroDivisionError: oh\n(.|\n)*"
                                           r"from user.py:7"):
        rules("failing").apply(made.operation)


def swap():
    equations(there=(match.add(x, y), match.maximum(x, y)), back=(match.maximum(x, y), match.add(x, y)),
              calm=(match.negate(match.negate(x)), x))


def test_rules_that_undo_each_other_are_stopped_and_named():
    swap()
    made = module(lambda a: ops.add(ops.negate(ops.negate(a(3))), a(3)))
    with pytest.warns(NotConvergedWarning, match=r"did not settle after 101 rewrites; still firing: (there, back|back, "
                                                 r"there)\."):
        rules("there", "back", "calm").apply(made.operation, budget=100)
    modules.verify(made)


def test_strict_raises():
    swap()
    with pytest.raises(NotConverged, match="still firing"):
        rules("there", "back").apply(module(lambda a: ops.add(a(3), a(3))).operation, budget=100, strict=True)


def test_verify_names_the_rule_that_builds_nonsense():
    @rewrite(match.negate(x))
    def careless(x, result_type):
        """An op whose operands do not fit."""
        return ops.create("stablehlo.add", [result_type], [x, ops.constant(1.0, "float64")]).result

    with pytest.raises(RewriteError, match="rule 'test_driver.careless' left an invalid op"):
        rules("careless").apply(module(lambda a: ops.negate(a(3))).operation, verify=True)


def test_dead_ops_go_collectives_too():
    made = modules.parse('''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %g = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}
        : (tensor<4xf32>) -> tensor<8xf32>
      %n = stablehlo.negate %g : tensor<8xf32>
      return %x : tensor<4xf32> }''')
    rules().apply(made.operation)
    assert names(made) == {}


def test_effects_stay():
    made = modules.parse('''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %g = stablehlo.custom_call @print(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
      %h = stablehlo.custom_call @pure(%x) {has_side_effect = false} : (tensor<4xf32>) -> tensor<4xf32>
      return %x : tensor<4xf32> }''')
    rules().apply(made.operation)
    assert names(made) == {"custom_call": 1}


LOOP = '''func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %r:2 = stablehlo.while(%i = %n, %v = %x) : tensor<i32>, tensor<4xf32>
    cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %a = stablehlo.negate %v : tensor<4xf32>
         %b = stablehlo.negate %a : tensor<4xf32>
         stablehlo.return %i, %b : tensor<i32>, tensor<4xf32> }
  return RESULT : tensor<4xf32> }'''


def test_regions_are_rewritten():
    equations(twice=(match.negate(match.negate(x)), x))
    made = modules.parse(LOOP.replace("RESULT", "%r#1"))
    rules("twice").apply(made.operation)
    assert names(made) == {"while": 1, "compare": 1}


def test_dead_loops_go_with_all_they_hold():
    equations(twice=(match.negate(match.negate(x)), x))
    made = modules.parse(LOOP.replace("RESULT", "%x"))
    assert rules("twice").apply(made.operation) == 0
    assert names(made) == {}


def test_general_rules_inline_regions():
    @rewrite("stablehlo.while")
    def no_iterations(site):
        """while false = its operands"""
        return site.operands if site.attribute("never") is None else None

    made = modules.parse(LOOP.replace("RESULT", "%r#1"))
    rules("no_iterations").apply(made.operation)
    assert names(made) == {}


def test_general_rules_change_in_place():
    @rewrite("stablehlo.while")
    def iteration_around(site):
        """Swap once."""
        returned = site.returned(1)
        if returned[1] == site.arguments(1)[1]:
            return None
        site.set_returned(site.terminator(1), [returned[0], site.arguments(1)[1]])
        return CHANGED

    made = modules.parse(LOOP.replace("RESULT", "%r#1"))
    assert rules("iteration_around").apply(made.operation, strict=True, verify=True) == 1
    modules.verify(made)
    assert names(made) == {"while": 1, "compare": 1}


def test_general_rules_may_not_change_and_decline():
    @rewrite("stablehlo.while")
    def sneaky(site):
        """Change, then decline."""
        site.substitute(site.arguments(1)[1], site.operands[1])

    with pytest.raises(RewriteError, match="rule 'test_driver.sneaky' changed the program and then declined"):
        rules("sneaky").apply(modules.parse(LOOP.replace("RESULT", "%r#1")).operation)


def test_new_ops_take_the_place_and_location_of_the_root():
    equations(apart=(match.negate(x), match.subtract(0, x)))
    made = modules.parse('func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n'
                         '%0 = stablehlo.negate %x : tensor<3xf32> loc("user.py":7:2)\nreturn %0 : tensor<3xf32>}')
    report = Report()
    rules("apart").apply(made.operation, report)
    assert 'loc("user.py":7:2)' in modules.to_text(made, locations=True)
    assert report.by_line() == {"user.py:7": {"apart": 1}}
    assert report.fired["apart"].count == 1 and report.fired["apart"].seconds > 0


def test_pure():
    made = modules.parse(LOOP.replace("RESULT", "%r#1"))
    loop = next(op for op in modules.walk(made) if op.name == "stablehlo.while")
    assert pure(loop) and not pure(modules.function(made))


def test_loops_in_loops_are_pure_in_linear_time():
    text = "%y = stablehlo.negate %x : tensor<f32>"
    for _ in range(40):
        text = f"""%y = "stablehlo.case"(%n) ({{
          {text}
          stablehlo.return %y : tensor<f32>
        }}) : (tensor<i32>) -> tensor<f32>"""
    made = modules.parse(f"func.func @main(%n: tensor<i32>, %x: tensor<f32>) {{\n{text}\nreturn\n}}")
    assert pure(next(modules.walk(modules.function(made))))


def test_a_thousand_ops_in_linear_time():
    """A budget, not a race: visits grow with the program, not with its square."""
    equations(twice=(match.negate(match.negate(x)), x))

    def chain(n):
        def builder(a):
            v = a(3)
            for _ in range(n):
                v = ops.negate(v)
            return v
        return module(builder)
    visits = []
    for n in (200, 400):
        report = Report()
        rules("twice").apply(chain(n).operation, report)
        visits.append(report.visited)
    assert visits[1] < 2.5 * visits[0]


def test_a_general_rule_that_hides_what_it_changes_is_found_out():
    @rewrite("stablehlo.negate")
    def sly(site):
        """Change another reader of the operand."""
        others = [use.owner for use in site.operands[0].uses if use.owner.operation.name == "stablehlo.abs"]
        if not others:
            return None
        others[0].operation.operands[0] = site.operands[0].owner.operands[0]
        return ops.sine(site.operands[0])

    @rewrite("stablehlo.abs")
    def patient(site):
        """Look, and decline."""

    made = module(lambda a: [v := ops.cosine(a(3)), ops.abs(v), ops.negate(v)][1:])
    with pytest.raises(RewriteError, match="gave new operands to stablehlo.abs without telling"):
        rules("sly", "patient").apply(made.operation, verify=True)


def test_operands_change_places_where_the_op_stands():
    @rewrite(match.add(match.constant(), y))
    def constant_last(y):
        """c + y = y + c"""
        return SWAPPED

    seen = []

    @rewrite(match.negate(match.add(x, match.constant())))
    def looking(x):
        """Look, and decline."""
        seen.append(x)

    made = module(lambda a: ops.negate(ops.add(ops.splat(2, v := a(3)), v)))
    add = next(op for op in modules.walk(made) if op.name == "stablehlo.add")
    address, (constant, argument), report = hash(add.result), add.operands, Report()
    assert rules("looking", "constant_last").apply(made.operation, report, verify=True) == 1
    assert (hash(add.result), *add.operands) == (address, argument, constant)
    assert seen == [argument] and report.fired["constant_last"].count == 1


def test_rules_of_loops_are_asked_where_the_loop_holds_what_they_want():
    asked = []

    @rewrite("stablehlo.while", holds=("stablehlo.sine", "stablehlo.cosine"))
    def waves(site):
        """Look, and decline."""
        asked.append(site.op.operands[0])

    def loop(a, iteration):
        return ops.while_([a()], lambda c: ops.compare(c, 0, "LT"), lambda c: [iteration(c)])[0]

    made = module(lambda a: [loop(a, ops.negate), loop(a, ops.cosine)])
    rules("waves").apply(made.operation)
    assert len(asked) == 1
    with pytest.raises(TypeError, match="no op is called"):
        rewrite("stablehlo.while", holds=("stablehlo.sinus",))(waves)


def test_loops_are_looked_at_last():
    order = []

    @rewrite("stablehlo.while")
    def loop(site):
        """Look, and decline."""
        order.append("while")

    @rewrite(match.sine(x))
    def wave(x):
        """Look, and decline."""
        order.append("sine")

    made = module(lambda a: ops.sine(ops.while_([a()], lambda c: ops.compare(c, 0, "LT"), lambda c: [ops.sine(c)])[0]))
    rules("loop", "wave").apply(made.operation)
    assert order == ["sine", "sine", "while"]
