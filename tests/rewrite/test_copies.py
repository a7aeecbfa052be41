"""What a program repeats is simplified once; the program that comes out is the one that comes out otherwise."""
import numpy as np
import pytest

from reactant import pipelines
from reactant.ir import interpret, modules
from reactant.ir.context import building
from reactant.rewrite import copies
from reactant.rewrite.repeats import Ops, repeats
from reactant.rewrite.report import source_line

T = "tensor<4xf64>"


def iteration(number, state, before, extra="", factor="2.0"):
    """An iteration of 16 ops on a state, of which rules leave 9; and what it gives."""
    k = f"%k{number}_"
    return f"""
  {k}c = stablehlo.constant dense<{factor}> : {T}
  {k}z = stablehlo.constant dense<0.0> : tensor<f64>
  {k}o = stablehlo.constant dense<1.0> : {T}
  {k}0 = stablehlo.multiply {k}c, {state} : {T}
  {k}1 = stablehlo.reshape {k}0 : ({T}) -> tensor<2x2xf64>
  {k}2 = stablehlo.sine {k}1 : tensor<2x2xf64>
  {k}3 = stablehlo.reshape {k}2 : (tensor<2x2xf64>) -> {T}
  {k}4 = stablehlo.negate {before} : {T}
  {k}5 = stablehlo.negate {k}4 : {T}
  {k}6 = stablehlo.add {k}3, {k}5 : {T}
  {k}7 = stablehlo.multiply {k}6, {k}o : {T}
  {k}8 = stablehlo.cosine {k}7 : {T}
  {k}9 = stablehlo.add {k}8, %w : {T}
  {k}a = stablehlo.tanh {k}9 : {T}
  {k}b = stablehlo.subtract {k}a, {k}7 : {T}{extra.format(k=k)}
  {k}r = stablehlo.exponential {k}b : {T}"""


def program(iterations, returned="%k{last}_r", types=T, **options):
    """That many iterations, each on what the last two have given. `options`: of iterations, by their number where
    callable."""
    lines, states = [], ["%x", "%y"]
    for number in range(iterations):
        chosen = {name: option(number) if callable(option) else option for name, option in options.items()}
        lines.append(iteration(number, states[-1], states[-2], **chosen))
        states.append(f"%k{number}_r")
    out = returned.format(last=iterations - 1)
    return f"""func.func @main(%x: {T}, %y: {T}, %w: {T}) -> ({types}) {{{"".join(lines)}
  return {out} : {types}
}}"""


ROW = """
  {{k}}s = stablehlo.slice {{k}}b [{row}:{end}] : (tensor<4xf64>) -> tensor<1xf64>
  {{k}}t = stablehlo.broadcast_in_dim {{k}}s, dims = [0] : (tensor<1xf64>) -> tensor<4xf64>
  {{k}}u = stablehlo.multiply {{k}}t, %w : tensor<4xf64>"""

LOOP = """
  {k}i = stablehlo.constant dense<0> : tensor<i32>
  {k}m = stablehlo.constant dense<1> : tensor<i32>
  {k}n = stablehlo.constant dense<9> : tensor<i32>
  {k}l:3 = stablehlo.while(%i = {k}i, %v = {k}b, %q = {k}9) : tensor<i32>, tensor<4xf64>, tensor<4xf64>
  cond {{
    %p = stablehlo.compare LT, %i, {k}n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %j = stablehlo.add %i, {k}m : tensor<i32>
    %d = stablehlo.negate %v : tensor<4xf64>
    %e = stablehlo.negate %d : tensor<4xf64>
    %f = stablehlo.multiply %e, {k}8 : tensor<4xf64>
    stablehlo.return %j, %f, %q : tensor<i32>, tensor<4xf64>, tensor<4xf64>
  }}"""

PAIR = """
  {{k}}s = stablehlo.atan2 {first}, {{k}}9 : tensor<4xf64>
  {{k}}t = stablehlo.atan2 {second}, {{k}}b : tensor<4xf64>
  {{k}}u = stablehlo.multiply {{k}}s, {{k}}t : tensor<4xf64>"""

PROGRAMS = {
    "iterations": program(20),
    "two kinds of iterations": program(40, factor=lambda number: 2.0 if number < 20 else 1.0),
    "constants that differ": program(20, factor=lambda number: number + 2.0),
    "rows that differ": program(20, extra=lambda number: ROW.format(row=number % 4, end=number % 4 + 1)),
    "loops": program(12, extra=LOOP),
    "loops that differ": program(
        12, ", ".join(f"%k{n}_l#1" for n in range(12)), ", ".join([T] * 12),
        extra=lambda number: LOOP.replace("negate %v", "sine %v" if number % 3 else "tanh %v")),
    "results of all iterations": program(20, ", ".join(f"%k{n}_b" for n in range(20)), ", ".join([T] * 20)),
    "nothing of the last iteration": program(20, "%k9_r, %x", f"{T}, {T}"),
    "nothing of the last loops": program(12, "%k5_r", extra=LOOP),
    "values that are one in the first iterations": program(
        20, ", ".join(f"%k{n}_u" for n in range(20)), ", ".join([T] * 20),
        extra=lambda number: PAIR.format(first="%x", second="%x" if number < 3 else "%y")),
    "an op that uses one value twice in the first iterations": program(
        20, ", ".join(f"%k{n}_s" for n in range(20)), ", ".join([T] * 20),
        extra=lambda number: f"\n  {{k}}s = stablehlo.clamp %x, {{k}}b, {'%x' if number < 3 else '%y'} : {T}"),
    "iterations in iterations": program(60, factor=lambda number: 2.0 if number % 6 else 3.0),
}


def simplified(text):
    """The module after `simplify`, each op and each record of the engine checked; and whether it was by copies."""
    module, found = modules.parse(text), []
    with pytest.MonkeyPatch.context() as patch:
        put = copies.Part.put_back
        patch.setattr(copies.Part, "put_back", lambda part, known: (found.append(part.repeat), put(part, known)))
        pipelines.run(module, "simplify", verify=True)
    modules.verify(module)
    return module, found


def one_by_one(text):
    module = modules.parse(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines, "_simplify_repeats", lambda *_: False)
        pipelines.run(module, "simplify")
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_copies_are_what_they_are_otherwise(name):
    with building():
        module, found = simplified(PROGRAMS[name])
        plain = one_by_one(PROGRAMS[name])
        assert found
        assert modules.counts(module) == modules.counts(plain)
        inputs = [np.linspace(low, low + 0.5, 4) for low in (-0.5, 0.1, 0.3)]
        for got, expected in zip(interpret.evaluate(module, inputs), interpret.evaluate(plain, inputs), strict=True):
            np.testing.assert_array_equal(got, expected)


def found_in(text):
    with building():
        module = modules.parse(text)
        block = modules.function(module).regions[0].blocks[0]
        return [(each.length, each.copies, len(each.holes)) for each in repeats(Ops(list(block)[:-1]))]


@pytest.mark.parametrize(("text", "expected"), [
    (program(20), [(16, 20, 0)]),
    (program(20, factor=lambda number: number + 2.0), [(16, 20, 1)]),
    (program(4), []),       # too little
    (program(20).replace("%k9_8 = stablehlo.cosine", "%k9_8 = stablehlo.sine"), [(16, 20, 1)]),
    (program(20).replace("%k9_9 = stablehlo.add %k9_8, %w", "%k9_9 = stablehlo.add %k9_8, %k9_7"),
     [(16, 9, 0), (16, 10, 0)]),
])
def test_what_is_a_repeat(text, expected):
    assert found_in(text) == expected


def test_copies_are_not_looked_at_again():
    with building():
        visited = {}
        for iterations in (20, 40):
            visited[iterations] = pipelines.run(modules.parse(program(iterations)), "simplify").visited
        plain = modules.parse(program(40))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipelines, "_simplify_repeats", lambda *_: False)
            assert pipelines.run(plain, "simplify").visited > 2 * visited[40]


def test_rewrites_count_for_every_copy():
    with building():
        report = pipelines.run(modules.parse(program(20)), "simplify")
        plain = one_by_one(program(20))
        assert report.fired["negate_of_negate"].count == 20
        assert report.operations_after == modules.size(plain)


def test_copies_stay_on_their_lines():
    lines = program(20).splitlines()
    text = "\n".join(f'{line} loc("iteration.py":{1 + number // 16}:0)' if " = " in line else line
                     for number, line in enumerate(lines[1:-2]))
    with building():
        module, found = simplified("\n".join([lines[0], text, *lines[-2:]]))
        assert found
        cosines = [op for op in modules.walk(module) if op.name == "stablehlo.cosine"]
        assert [source_line(op.location) for op in cosines] == [f"iteration.py:{1 + number}" for number in range(20)]


def test_little_that_repeats_among_much_that_does_not_is_let_be():
    lines, value = [], "%k19_r"
    for number in range(700):
        name = "sine" if number**2 % 1009 % 7 < 3 else "tanh"
        lines.append(f"\n  %q{number} = stablehlo.{name} {value} : {T}")
        value = f"%q{number}"
    assert found_in(program(20, returned=value).replace("\n  return", "".join(lines) + "\n  return")) == []
