"""Programs in numbers of more digits."""
import numpy as np

from reactant.improvement import programs


def test_real_numbers_of_whole_programs():
    def mean(x):
        s = 0.0
        for _ in range(20):
            s = (s + np.sqrt(x).sum()) / 3
        return s

    x = np.float32(np.linspace(1, 2, 50))
    for each, digits in ((x, 24), (x.astype(np.float64), 53)):
        real = programs.in_reals(programs.Program(mean, (each,), {}))
        wanted = mean(each.astype(np.longdouble))
        assert abs(real[0] / wanted - 1) < 2.0**-(2 * digits - 6 if digits == 24 else 52)
