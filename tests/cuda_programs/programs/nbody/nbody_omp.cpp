// nbody N STEPS SEED [--check]: bodies are shared out; the sum over all others is a vector reduction.
#include "nbody.h"

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = arguments.number(0, 2000), steps = arguments.number(1, 5);
    std::vector<Body> body(n), velocity(n);
    make_inputs(n, arguments.number(2, 1), body, velocity);
    const std::vector<Body> first = body, first_velocity = velocity;

    const double begun = milliseconds();
    std::vector<float> px(n), py(n), pz(n), masses(n);              // coordinate by coordinate, for vectors
    float *__restrict x = px.data(), *__restrict y = py.data(), *__restrict z = pz.data();
    float *__restrict m = masses.data();
    for (int i = 0; i < n; ++i) {
        x[i] = body[i].x;
        y[i] = body[i].y;
        z[i] = body[i].z;
        m[i] = body[i].mass;
    }
    const double kernel_begun = milliseconds();
    for (int k = 0; k < steps; ++k) {
#pragma omp parallel
        {
#pragma omp for schedule(static)
            for (int i = 0; i < n; ++i) {
                float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
                for (int j = 0; j < n; ++j) {
                    const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
                    const float inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
                    const float s = m[j] * inverse * inverse * inverse;
                    ax += dx * s;
                    ay += dy * s;
                    az += dz * s;
                }
                velocity[i].x += STEP * ax;
                velocity[i].y += STEP * ay;
                velocity[i].z += STEP * az;
            }
#pragma omp for schedule(static)
            for (int i = 0; i < n; ++i) {
                x[i] += STEP * velocity[i].x;
                y[i] += STEP * velocity[i].y;
                z[i] += STEP * velocity[i].z;
            }
        }
    }
    const double kernel_ended = milliseconds();
    for (int i = 0; i < n; ++i) body[i] = {x[i], y[i], z[i], m[i]};
    const double ended = milliseconds();

    results("positions", &body[0].x, 4 * size_t(n));
    print_times(kernel_ended - kernel_begun, ended - begun);
    if (arguments.check) check(first, first_velocity, body, steps);
}
