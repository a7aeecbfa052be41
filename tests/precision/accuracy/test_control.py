import numpy as np

from tests.precision.accuracy.beside_itself import function, program

LOOP = function("""
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %start = stablehlo.constant dense<0.0> : tensor<f32>
    %r:2 = stablehlo.while(%k = %zero, %t = %start) : tensor<i32>, tensor<f32>
    cond {
        %c = stablehlo.compare LT, %k, %arg1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %next = stablehlo.add %k, %one : tensor<i32>
        %more = stablehlo.add %t, %arg0 : tensor<f32>
        stablehlo.return %next, %more : tensor<i32>, tensor<f32>
    }
    return %r#1 : tensor<f32>""", ["f32", "i32"], ["f32"])


def test_loops_tell_errors_by_iterations():
    made = program(LOOP, np.float32(0.1), np.int32(1000))
    results, exact, measures = made.run()
    total = np.float32(0)
    for _ in range(1000):
        total += np.float32(0.1)
    assert results[0] == total and abs(exact[0][0] - 1000 * float(np.float32(0.1))) < 1e-9
    loop, growth, _ = next(each for each in measures if each[0].kind == "loop")
    assert loop.digits == 24 and growth[0] == 0 and growth[9] > 100 * max(growth[1], 2.0**-25)
    assert growth[10] == 0          # there was no iteration beyond the 1,023rd
    number, largest, counted = next(each for each in measures if each[0].kind == "number")
    assert number.name == "stablehlo.add" and counted[1] == 1000 and largest[0] <= 2.0**-23
    made.arguments[1] = np.int32(0)
    results, exact, _ = made.run()
    assert results[0] == 0.0 and exact[0][0] == 0.0


def test_the_branch_of_the_program_is_taken():
    text = function("""
        %one = stablehlo.constant dense<1.0> : tensor<f32>
        %more = stablehlo.add %arg0, %one : tensor<f32>
        %same = stablehlo.compare EQ, %more, %arg0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %r = "stablehlo.if"(%same) ({
            %twice = stablehlo.add %arg0, %arg0 : tensor<f32>
            stablehlo.return %twice : tensor<f32>
        }, {
            %root = stablehlo.sqrt %arg0 : tensor<f32>
            stablehlo.return %root : tensor<f32>
        }) : (tensor<i1>) -> tensor<f32>
        return %r : tensor<f32>""", ["f32"], ["f32"])
    results, exact, measures = program(text, np.float32(1e8)).run()
    assert results[0] == np.float32(2e8) and exact[0][0] == 2e8
    told = {entry.name: counted for entry, _, counted in measures}
    assert told["stablehlo.compare"][0] == 1
    assert told["stablehlo.sqrt"][1] == 0       # that branch has not run


def test_sorts_keep_companions_beside_their_numbers():
    text = function("""
        %third = stablehlo.constant dense<3.0> : tensor<4xf32>
        %part = stablehlo.divide %arg0, %third : tensor<4xf32>
        %s = "stablehlo.sort"(%part) <{dimension = 0 : i64, is_stable = true}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
                %c = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
                stablehlo.return %c : tensor<i1>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        return %s : tensor<4xf32>""", ["4xf32"], ["4xf32"])
    given = np.float32([5, 1, 4, 2])
    results, exact, _ = program(text, given).run()
    np.testing.assert_array_equal(results[0], np.sort(given / np.float32(3)))
    np.testing.assert_allclose(exact[0][0], np.sort(given.astype(float)) / 3, rtol=1e-15)
