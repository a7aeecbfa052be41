// random_host RESULTS: what generators of the host's side make, in calls of several lengths.
#include <curand.h>

#include "numbers.h"

struct Kind { const char *name; curandRngType_t type; };
const Kind kinds[] = {{"xorwow", CURAND_RNG_PSEUDO_DEFAULT}, {"mrg32k3a", CURAND_RNG_PSEUDO_MRG32K3A},
                      {"philox", CURAND_RNG_PSEUDO_PHILOX4_32_10}, {"sobol", CURAND_RNG_QUASI_SOBOL32}};

template <class T, class Make> void made(const std::string &name, size_t count, const Make &make) {
    T *to;
    GOOD(cudaMalloc(&to, count * sizeof(T)));
    GOOD(make(to, count));
    save(name, to, count);
    GOOD(cudaFree(to));
}

// All distributions one after another, so that each begins where the last one ended.
void all(const Kind &kind, unsigned long long seed, unsigned long long offset, size_t count, const std::string &name) {
    const bool sobol = kind.type == CURAND_RNG_QUASI_SOBOL32;
    curandGenerator_t g;
    GOOD(curandCreateGenerator(&g, kind.type));
    if (!sobol) GOOD(curandSetPseudoRandomGeneratorSeed(g, seed));
    else GOOD(curandSetQuasiRandomGeneratorDimensions(g, 3));
    GOOD(curandSetGeneratorOffset(g, offset));
    const size_t odd = sobol ? 9 : kind.type == CURAND_RNG_PSEUDO_PHILOX4_32_10 ? 7 : 6;
    made<unsigned>(name + "bits", odd, [=](unsigned *to, size_t n) { return curandGenerate(g, to, n); });
    made<float>(name + "uniform", count, [=](float *to, size_t n) { return curandGenerateUniform(g, to, n); });
    made<double>(name + "uniform_double", count, [=](double *to, size_t n) { return curandGenerateUniformDouble(g, to, n); });
    made<float>(name + "normal", count, [=](float *to, size_t n) { return curandGenerateNormal(g, to, n, 0.5f, 2.0f); });
    made<double>(name + "normal_double", count, [=](double *to, size_t n) { return curandGenerateNormalDouble(g, to, n, 0.5, 2.0); });
    made<float>(name + "log_normal", count, [=](float *to, size_t n) { return curandGenerateLogNormal(g, to, n, 0.25f, 0.5f); });
    made<double>(name + "log_normal_double", count, [=](double *to, size_t n) { return curandGenerateLogNormalDouble(g, to, n, 0.25, 0.5); });
    made<unsigned>(name + "after", 6, [=](unsigned *to, size_t n) { return curandGenerate(g, to, n); });
    GOOD(curandDestroyGenerator(g));
}

int main(int, char **arguments) {
    results() = std::fopen(arguments[1], "wb");
    for (const Kind &kind : kinds) {
        const std::string name = kind.name;
        all(kind, 0, 0, 12, name + ",0,0,12,");
        all(kind, 0x123456789abcdefull, 70003, 30, name + ",123456789abcdef,70003,30,");
    }
    all(kinds[0], 7, 5, 9000, "xorwow,7,5,9000,");
    all(kinds[2], 7, 3, 270000, "philox,7,3,270000,");
    curandGenerator_t g;
    for (double mean : {0.75, 9.0, 300.0, 5000.0}) {
        GOOD(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10));
        made<unsigned>("poisson," + std::to_string(mean), 40000, [=](unsigned *to, size_t n) { return curandGeneratePoisson(g, to, n, mean); });
        GOOD(curandDestroyGenerator(g));
    }
    save("no_mt19937", int(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_MT19937)));
    GOOD(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_XORWOW));
    float *x = numbers<float>(1, 8);
    save("odd_normal", int(curandGenerateNormal(g, x, 5, 0, 1)));
    save("no_dimensions", int(curandSetQuasiRandomGeneratorDimensions(g, 2)));
    GOOD(curandDestroyGenerator(g));
    std::fclose(results());
}
