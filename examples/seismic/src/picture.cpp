// The field over the layers, as a picture that every viewer knows (PPM).
#include <algorithm>
#include <cmath>
#include <vector>

#include "picture.h"

void write_picture(const char *file, const float *pressure, const float *speed, int nx, int nz, size_t pitch,
                   size_t first) {
    float most = 1e-30f;
    for (int z = 0; z < nz; ++z)
        for (int x = 0; x < nx; ++x) most = std::max(most, std::fabs(pressure[first + z * pitch + x]));
    std::vector<unsigned char> pixels;
    for (int z = 0; z < nz; ++z)
        for (int x = 0; x < nx; ++x) {
            const size_t i = first + z * pitch + x;
            const float ground = 1.0f - (speed[i] - 1500.0f) / 6000.0f, wave = std::tanh(8 * pressure[i] / most);
            for (const float tint : {std::max(wave, 0.0f), 0.0f, std::max(-wave, 0.0f)})
                pixels.push_back((unsigned char)(255 * std::clamp(ground * (1 - std::fabs(wave)) + tint, 0.0f, 1.0f)));
        }
    FILE *out = fopen(file, "wb");
    if (!out) { perror(file); return; }
    fprintf(out, "P6\n%d %d\n255\n", nx, nz);
    fwrite(pixels.data(), 1, pixels.size(), out);
    fclose(out);
}
