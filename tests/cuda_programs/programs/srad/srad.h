// Speckle-reducing anisotropic diffusion (Yu and Acton, 2002) of an ultrasound-like image.
#pragma once
#include "../common.h"

inline void make_inputs(int rows, int columns, long seed, std::vector<float> &image) {
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
            const float inside = std::hypot(i - rows * 0.5f, j - columns * 0.4f) < rows * 0.25f ? 0.8f : 0.3f;
            image[size_t(i) * columns + j] = std::exp(inside + 0.4f * random_float(seed, size_t(i) * columns + j));
        }
}

// The coefficient of diffusion of one pixel, from its differences to the four neighbours and the speckle scale.
HOST_DEVICE inline float diffusion(float here, float dn, float ds, float dw, float de, float q0) {
    const float gradient = (dn * dn + ds * ds + dw * dw + de * de) / (here * here);
    const float laplacian = (dn + ds + dw + de) / here;
    const float numerator = 0.5f * gradient - (1.0f / 16) * laplacian * laplacian;
    const float base = 1 + 0.25f * laplacian;
    const float q = numerator / (base * base);
    const float c = 1 / (1 + (q - q0) / (q0 * (1 + q0)));
    return c < 0 ? 0 : c > 1 ? 1 : c;
}

inline std::vector<float> reference(std::vector<float> image, int rows, int columns, int steps, float lambda) {
    std::vector<float> c(image.size());
    auto at = [&](int i, int j) {
        return size_t(std::min(std::max(i, 0), rows - 1)) * columns + std::min(std::max(j, 0), columns - 1);
    };
    for (int step = 0; step < steps; ++step) {
        double sum = 0, squares = 0;
        for (float v : image) { sum += v; squares += double(v) * v; }
        const double mean = sum / image.size(), variance = squares / image.size() - mean * mean;
        const float q0 = float(variance / (mean * mean));
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j) {
                const float v = image[at(i, j)];
                c[at(i, j)] = diffusion(v, image[at(i - 1, j)] - v, image[at(i + 1, j)] - v, image[at(i, j - 1)] - v,
                                        image[at(i, j + 1)] - v, q0);
            }
        std::vector<float> next(image.size());
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j) {
                const float v = image[at(i, j)], here = c[at(i, j)];
                const float divergence =
                    here * (image[at(i - 1, j)] - v) + c[at(i + 1, j)] * (image[at(i + 1, j)] - v) +
                    here * (image[at(i, j - 1)] - v) + c[at(i, j + 1)] * (image[at(i, j + 1)] - v);
                next[at(i, j)] = v + 0.25f * lambda * divergence;
            }
        image.swap(next);
    }
    return image;
}
