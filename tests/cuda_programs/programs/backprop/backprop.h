// One hidden layer of a few units over very many inputs, trained by steps of back-propagation with momentum.
#pragma once
#include "../common.h"

constexpr int HIDDEN = 16;
constexpr float RATE = 0.3f, MOMENTUM = 0.3f;

inline float squash(float x) { return 1 / (1 + std::exp(-x)); }

struct Network {
    std::vector<float> input, weights, changes;    // weights: inputs + 1 rows (the first are thresholds) of HIDDEN
    float output_weights[HIDDEN + 1], output_changes[HIDDEN + 1] = {}, target = 0.1f;

    Network(int inputs, long seed) : input(inputs + 1), weights(size_t(inputs + 1) * HIDDEN), changes(weights.size()) {
        input[0] = 1;
        for (int i = 1; i <= inputs; ++i) input[i] = random_float(seed, i);
        for (size_t i = 0; i < weights.size(); ++i) weights[i] = (random_float(seed + 1, i) - 0.5f) / 64;
        for (int j = 0; j <= HIDDEN; ++j) output_weights[j] = random_float(seed + 2, j) - 0.5f;
    }

    // From the sums of the hidden units: the output's error; output weights are trained; deltas of the hidden units.
    float output_layer(const double *sums, float *deltas) {
        float hidden[HIDDEN + 1] = {1}, sum = 0;
        for (int j = 0; j < HIDDEN; ++j) hidden[j + 1] = squash(float(sums[j]));
        for (int j = 0; j <= HIDDEN; ++j) sum += output_weights[j] * hidden[j];
        const float out = squash(sum), delta = out * (1 - out) * (target - out);
        for (int j = 0; j < HIDDEN; ++j)
            deltas[j] = hidden[j + 1] * (1 - hidden[j + 1]) * delta * output_weights[j + 1];
        for (int j = 0; j <= HIDDEN; ++j) {
            output_changes[j] = RATE * delta * hidden[j] + MOMENTUM * output_changes[j];
            output_weights[j] += output_changes[j];
        }
        return std::fabs(target - out);
    }
};

inline float reference(Network &n, int inputs, int steps) {
    float error = 0;
    for (int step = 0; step < steps; ++step) {
        double sums[HIDDEN] = {};
        float deltas[HIDDEN];
        for (int i = 0; i <= inputs; ++i)
            for (int j = 0; j < HIDDEN; ++j) sums[j] += n.weights[size_t(i) * HIDDEN + j] * n.input[i];
        error = n.output_layer(sums, deltas);
        for (int i = 0; i <= inputs; ++i)
            for (int j = 0; j < HIDDEN; ++j) {
                const size_t k = size_t(i) * HIDDEN + j;
                n.changes[k] = RATE * deltas[j] * n.input[i] + MOMENTUM * n.changes[k];
                n.weights[k] += n.changes[k];
            }
    }
    return error;
}
