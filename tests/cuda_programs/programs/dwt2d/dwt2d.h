// The reversible wavelet transform of JPEG 2000 (5/3, integers) in two dimensions over several levels.
#pragma once
#include "../common.h"

inline std::vector<int> make_image(int width, int height, long seed) {
    std::vector<int> image(size_t(width) * height);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            image[size_t(y) * width + x] = std::abs((3 * x + y) % 320 - 160) + std::abs((2 * y) % 128 - 64) / 2 +
                                           int(random_bits(seed, size_t(y) * width + x) % 20);
    return image;
}

// Signals are mirrored at their ends.
HOST_DEVICE inline int mirrored(int k, int n) {
    k = k < 0 ? -k : k;
    k = k >= n ? 2 * (n - 1) - k : k;
    return k < 0 ? 0 : k;                            // n of 1
}
HOST_DEVICE inline int high_of(int left, int middle, int right) { return middle - ((left + right) >> 1); }
HOST_DEVICE inline int low_of(int before, int middle, int after) { return middle + ((before + after + 2) >> 2); }

// One line back: low and high halves to samples.
inline void inverse_line(int *line, int n, size_t stride, std::vector<int> &x) {
    if (n < 2) return;
    const int lows = (n + 1) / 2;
    x.resize(n);
    auto high = [&](int k) { return line[(lows + k) * stride]; };
    const int highs = n / 2;
    for (int k = 0; k < lows; ++k) {
        const int before = high(k > 0 ? k - 1 : 0), after = high(k < highs ? k : highs - 1);
        x[2 * k] = line[k * stride] - ((before + after + 2) >> 2);
    }
    for (int k = 0; k < highs; ++k) x[2 * k + 1] = high(k) + ((x[2 * k] + x[mirrored(2 * k + 2, n)]) >> 1);
    for (int k = 0; k < n; ++k) line[k * stride] = x[k];
}

inline void check(std::vector<int> transformed, const std::vector<int> &image, int width, int height, int levels) {
    std::vector<int> line, widths{width}, heights{height};
    for (int l = 1; l < levels; ++l) {
        widths.push_back((widths.back() + 1) / 2);
        heights.push_back((heights.back() + 1) / 2);
    }
    for (int l = levels - 1; l >= 0; --l) {
        for (int x = 0; x < widths[l]; ++x) inverse_line(&transformed[x], heights[l], width, line);
        for (int y = 0; y < heights[l]; ++y) inverse_line(&transformed[size_t(y) * width], widths[l], 1, line);
    }
    expect_close("back again", transformed, image, 0);
}
