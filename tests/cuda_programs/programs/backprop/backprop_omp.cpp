// backprop INPUTS STEPS SEED [--check]: inputs are shared out, the hidden units are one vector.
#include "backprop.h"

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int inputs = arguments.number(0, 65536), steps = arguments.number(1, 5);
    Network network(inputs, arguments.number(2, 1));
    Network other = network;

    const double begun = milliseconds();
    const float *input = network.input.data();
    float *__restrict weights = network.weights.data(), *__restrict changes = network.changes.data();
    float error = 0;
    for (int step = 0; step < steps; ++step) {
        double sums[HIDDEN] = {};
        float deltas[HIDDEN];
#pragma omp parallel for schedule(static) reduction(+ : sums[:HIDDEN])
        for (int first = 0; first <= inputs; first += 64) {       // float sums of few, double sums of those
            float few[HIDDEN] = {};
            const int last = std::min(first + 64, inputs + 1);
            for (int i = first; i < last; ++i)
#pragma omp simd
                for (int j = 0; j < HIDDEN; ++j) few[j] += weights[size_t(i) * HIDDEN + j] * input[i];
            for (int j = 0; j < HIDDEN; ++j) sums[j] += few[j];
        }
        error = network.output_layer(sums, deltas);
#pragma omp parallel for schedule(static)
        for (int i = 0; i <= inputs; ++i)
#pragma omp simd
            for (int j = 0; j < HIDDEN; ++j) {
                const size_t k = size_t(i) * HIDDEN + j;
                changes[k] = RATE * deltas[j] * input[i] + MOMENTUM * changes[k];
                weights[k] += changes[k];
            }
    }
    const double ended = milliseconds();

    result("error", error);
    results("weights", network.weights);
    print_times(ended - begun, ended - begun);
    if (arguments.check) {
        const float wanted = reference(other, inputs, steps);
        expect_close("error", &error, &wanted, 1, 1e-4);
        expect_close("weights", network.weights, other.weights, 1e-4);
    }
}
