// fft RESULTS: plans of all kinds; lengths with small and large factors, batches, strides, in place.
#include <cufft.h>

#include "numbers.h"

template <class Z, class R> struct Kinds;
template <> struct Kinds<float2, float> {
    static constexpr cufftType c2c = CUFFT_C2C, r2c = CUFFT_R2C, c2r = CUFFT_C2R;
    static constexpr const char *name = "single";
};
template <> struct Kinds<double2, double> {
    static constexpr cufftType c2c = CUFFT_Z2Z, r2c = CUFFT_D2Z, c2r = CUFFT_Z2D;
    static constexpr const char *name = "double";
};
static cufftResult run(cufftHandle p, float2 *a, float2 *b, int d) { return cufftExecC2C(p, a, b, d); }
static cufftResult run(cufftHandle p, double2 *a, double2 *b, int d) { return cufftExecZ2Z(p, a, b, d); }
static cufftResult run(cufftHandle p, float *a, float2 *b) { return cufftExecR2C(p, a, b); }
static cufftResult run(cufftHandle p, double *a, double2 *b) { return cufftExecD2Z(p, a, b); }
static cufftResult run(cufftHandle p, float2 *a, float *b) { return cufftExecC2R(p, a, b); }
static cufftResult run(cufftHandle p, double2 *a, double *b) { return cufftExecZ2D(p, a, b); }

// Dense arrays of a shape: complex both ways, real there and back.
template <class Z, class R> void dense(std::vector<int> n, int batch) {
    using K = Kinds<Z, R>;
    std::string name = std::string(K::name) + " " + std::to_string(batch);
    size_t size = batch, half = batch;
    for (size_t k = 0; k < n.size(); ++k) {
        name += (k ? "x" : ":") + std::to_string(n[k]);
        size *= n[k];
        half *= k + 1 == n.size() ? n[k] / 2 + 1 : n[k];
    }
    for (char &c : name) if (c == ' ') c = ',';
    const int rank = int(n.size());
    Z *a = numbers<Z>(1, size), *b = numbers<Z>(2, size);
    R *x = numbers<R>(3, size);
    Z *h = numbers<Z>(4, half), *g = numbers<Z>(5, half);
    cufftHandle plan;
    GOOD(cufftPlanMany(&plan, rank, n.data(), nullptr, 1, 0, nullptr, 1, 0, K::c2c, batch));
    GOOD(run(plan, a, b, CUFFT_FORWARD));
    save("forward," + name, b, size);
    GOOD(run(plan, a, a, CUFFT_INVERSE));
    save("inverse," + name, a, size);
    GOOD(cufftDestroy(plan));
    GOOD(cufftPlanMany(&plan, rank, n.data(), nullptr, 1, 0, nullptr, 1, 0, K::r2c, batch));
    GOOD(run(plan, x, h));
    save("real," + name, h, half);
    GOOD(cufftDestroy(plan));
    GOOD(cufftPlanMany(&plan, rank, n.data(), nullptr, 1, 0, nullptr, 1, 0, K::c2r, batch));
    GOOD(run(plan, g, x));
    save("back," + name, x, size);
    GOOD(cufftDestroy(plan));
    for (void *p : {(void *)a, (void *)b, (void *)x, (void *)h, (void *)g}) GOOD(cudaFree(p));
}

int main(int, char **arguments) {
    results() = std::fopen(arguments[1], "wb");
    for (int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 27, 30, 37, 49, 60, 64, 74, 97, 100, 121, 128, 210, 211,
                  1000, 1024})
        dense<double2, double>({n}, n % 3 + 1), dense<float2, float>({n}, 9);
    dense<double2, double>({16384}, 1), dense<float2, float>({20000}, 2), dense<double2, double>({10007}, 1);
    dense<double2, double>({6, 10}, 1), dense<float2, float>({5, 9}, 3), dense<float2, float>({4, 6, 8}, 1);
    dense<double2, double>({3, 5, 7}, 2), dense<double2, double>({1, 8}, 1), dense<float2, float>({37, 38}, 2);

    // Every other number of rows of 12 in arrays of 20, three of them; results side by side.
    cufftHandle plan;
    int n[] = {12}, inside[] = {20}, outside[] = {12};
    GOOD(cufftPlanMany(&plan, 1, n, inside, 2, 40, outside, 3, 1, CUFFT_Z2Z, 3));
    double2 *a = numbers<double2>(7, 120), *b = numbers<double2>(8, 36);
    GOOD(run(plan, a, b, CUFFT_FORWARD));
    save("strided", b, 36);
    GOOD(cufftDestroy(plan));
    // A rectangle of 4 x 6 in arrays of 5 x 8, two of them, real, into arrays of 4 x 5.
    int rectangle[] = {4, 6}, from[] = {5, 8}, to[] = {4, 5};
    double *x = numbers<double>(9, 80);
    double2 *y = numbers<double2>(10, 40);
    GOOD(cufftPlanMany(&plan, 2, rectangle, from, 1, 40, to, 1, 20, CUFFT_D2Z, 2));
    GOOD(run(plan, x, y));
    save("rectangle", y, 40);
    GOOD(cufftDestroy(plan));
    // In place: rows of 10 real numbers with room for 6 complex ones.
    for (int odd = 0; odd < 2; ++odd) {
        const int length = 10 + odd;
        double *z = numbers<double>(11, 4 * 12);
        cufftHandle back;
        GOOD(cufftPlan2d(&plan, 4, length, CUFFT_D2Z));
        GOOD(cufftPlan2d(&back, 4, length, CUFFT_Z2D));
        GOOD(run(plan, z, (double2 *)z));
        save(odd ? "in_place_odd" : "in_place", (double2 *)z, 24);
        GOOD(run(back, (double2 *)z, z));
        save(odd ? "in_place_back_odd" : "in_place_back", z, 48);
        GOOD(cufftDestroy(plan));
        GOOD(cufftDestroy(back));
    }
    // What cannot be, and streams.
    save("bad_size", int(cufftPlan1d(&plan, 0, CUFFT_C2C, 1)));
    save("bad_batch", int(cufftPlan1d(&plan, 8, CUFFT_C2C, 0)));
    save("bad_type", int(cufftPlan1d(&plan, 8, (cufftType)1, 1)));
    GOOD(cufftPlan1d(&plan, 8, CUFFT_C2C, 1));
    save("wrong_type", int(cufftExecR2C(plan, nullptr, nullptr)));
    save("bad_direction", int(cufftExecC2C(plan, (float2 *)a, (float2 *)a, 0)));
    GOOD(cufftDestroy(plan));
    save("no_plan", int(cufftDestroy(plan)));
    std::fclose(results());
}
