// lavamd BOXES SEED [--check]: boxes are shared out; the particles of a box are a vector, coordinate by coordinate.
#include "lavamd.h"

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int boxes = arguments.number(0, 6), all = boxes * boxes * boxes;
    const size_t particles = size_t(all) * PER_BOX;
    std::vector<Vector4> position(particles), force(particles);
    std::vector<float> charge(particles);
    make_inputs(boxes, arguments.number(1, 1), position, charge);

    const double begun = milliseconds();
    const std::vector<int> near = neighbour_boxes(boxes);
    const double kernel_begun = milliseconds();
#pragma omp parallel for schedule(dynamic, 4)
    for (int box = 0; box < all; ++box) {
        float x[PER_BOX], y[PER_BOX], z[PER_BOX], v[PER_BOX];
        float fx[PER_BOX] = {}, fy[PER_BOX] = {}, fz[PER_BOX] = {}, fv[PER_BOX] = {};
        for (int i = 0; i < PER_BOX; ++i) {
            const Vector4 &p = position[size_t(box) * PER_BOX + i];
            x[i] = p.x;
            y[i] = p.y;
            z[i] = p.z;
            v[i] = p.v;
        }
        for (int k = 0; k < 27 && near[size_t(box) * 27 + k] >= 0; ++k) {
            const size_t other = size_t(near[size_t(box) * 27 + k]) * PER_BOX;
            for (int j = 0; j < PER_BOX; ++j) {
                const Vector4 o = position[other + j];
                const float q = charge[other + j];
                float e[PER_BOX];                    // exponentials apart: they need not be vectors
#pragma omp simd
                for (int i = 0; i < PER_BOX; ++i)
                    e[i] = -ALPHA2 * 2 * (v[i] + o.v - (x[i] * o.x + y[i] * o.y + z[i] * o.z));
#pragma omp simd
                for (int i = 0; i < PER_BOX; ++i) e[i] = std::exp(e[i]);
#pragma omp simd
                for (int i = 0; i < PER_BOX; ++i) {
                    const float f = 2 * e[i] * q;
                    fv[i] += q * e[i];
                    fx[i] += f * (x[i] - o.x);
                    fy[i] += f * (y[i] - o.y);
                    fz[i] += f * (z[i] - o.z);
                }
            }
        }
        for (int i = 0; i < PER_BOX; ++i) force[size_t(box) * PER_BOX + i] = {fx[i], fy[i], fz[i], fv[i]};
    }
    const double ended = milliseconds();

    results("force", &force[0].x, 4 * particles);
    print_times(ended - kernel_begun, ended - begun);
    if (arguments.check) check(position, charge, force, boxes);
}
