// Generators of the host's side. Number n of a sequence comes from one of many threads, as on a GPU: the thread's own
// subsequence of the generator (cuRAND's manual, "Order"; how many threads, and what a thread takes for each
// distribution, was read off NVIDIA's library on CPUs).
#include <cstdio>
#include <cstring>

#include "random.h"

using namespace reactant;
using namespace reactant::random;

struct curandGenerator_st {
    curandRngType_t type; cudaStream_t stream = nullptr;
    unsigned long long seed = 0, offset = 0; unsigned dimensions = 1;
    bool begun = false;
    virtual ~curandGenerator_st() = default;
    virtual void begin() = 0;                       // from seed and offset
    virtual void bits(unsigned *to, size_t count) = 0;
    virtual void uniform(float *to, size_t count) = 0;
    virtual void uniform(double *to, size_t count) = 0;
    virtual void normal(float *to, size_t count, float mean, float deviation, bool logarithm) = 0;
    virtual void normal(double *to, size_t count, double mean, double deviation, bool logarithm) = 0;
    virtual void poisson(unsigned *to, size_t count, double lambda) = 0;
    virtual size_t pairs() const { return 1; }      // counts of normal numbers are multiples of it
    virtual size_t parts() const { return 1; }      // all counts are
    void ready() { if (!begun) begin(), begun = true; }
};

namespace {

template <class T> T shifted(T z, T mean, T deviation, bool logarithm) {
    const T x = mean + deviation * z;
    return logarithm ? (T)std::exp(x) : x;
}

// ---- XORWOW and MRG32k3a: item k of a call is made by thread (next + k) modulo their number ----

void start(curandStateXORWOW *s, unsigned long long skip, unsigned *all) {
    if (skip) reactant_xorwow_skip(skip, 0, all);
    s->d = all[0];
    for (int k = 0; k < 5; ++k) s->v[k] = all[k + 1];
    reactant_no_normal_left(s);
}
void start(curandStateMRG32k3a *s, unsigned long long skip, unsigned *all) {
    if (skip) reactant_mrg32k3a_skip(skip, 0, all);
    for (int k = 0; k < 3; ++k) s->s1[k] = all[k], s->s2[k] = all[k + 3];
    reactant_no_normal_left(s);
}

template <class State, uint64_t THREADS> struct Sequences final : curandGenerator_st {
    static constexpr bool xorwow = std::is_same_v<State, curandStateXORWOW>;
    std::vector<State> states;
    uint64_t next = 0;

    void begin() override {
        states.resize(THREADS);
        unsigned all[6], here[6];
        if (xorwow) reactant_xorwow_begin(seed, 0, 0, all);
        else reactant_mrg32k3a_begin(seed, 0, 0, all);
        next = offset % THREADS;
        for (uint64_t t = 0; t < THREADS; ++t) {
            std::memcpy(here, all, sizeof all);
            start(&states[t], offset / THREADS + (t < next), here);
            if (xorwow) reactant_xorwow_skip(1, 1, all);
            else reactant_mrg32k3a_skip(1, 1, all);
        }
    }
    // make(state, item) for each item; a thread's items are made in order.
    template <class Make> void items(uint64_t count, const Make &make) {
        constexpr uint64_t BLOCK = 64;
        const uint64_t rounds = (next + count + THREADS - 1) / THREADS;
        in_ranges(THREADS / BLOCK, std::max<uint64_t>(1, 256 / (rounds + 1)), [&](uint64_t begun, uint64_t ended) {
            for (uint64_t block = begun * BLOCK; block < ended * BLOCK; block += BLOCK)
                for (uint64_t round = 0; round < rounds; ++round)
                    for (uint64_t t = block; t < block + BLOCK; ++t) {
                        const uint64_t at = round * THREADS + t;
                        if (at >= next && at < next + count) make(&states[t], at - next);
                    }
        });
        next = (next + count) % THREADS;
    }
    size_t pairs() const override { return 2; }
    void bits(unsigned *to, size_t count) override { items(count, [=](State *s, uint64_t k) { to[k] = curand(s); }); }
    void uniform(float *to, size_t count) override { items(count, [=](State *s, uint64_t k) { to[k] = curand_uniform(s); }); }
    void uniform(double *to, size_t count) override {
        items(count, [=](State *s, uint64_t k) { to[k] = curand_uniform_double(s); });
    }
    void normal(float *to, size_t count, float mean, float deviation, bool logarithm) override {
        items(count / 2, [=](State *s, uint64_t k) {
            const float2 z = curand_normal2(s);
            to[2 * k] = shifted(z.x, mean, deviation, logarithm), to[2 * k + 1] = shifted(z.y, mean, deviation, logarithm);
        });
    }
    void normal(double *to, size_t count, double mean, double deviation, bool logarithm) override {
        items(count / 2, [=](State *s, uint64_t k) {
            const double2 z = curand_normal2_double(s);
            to[2 * k] = shifted(z.x, mean, deviation, logarithm), to[2 * k + 1] = shifted(z.y, mean, deviation, logarithm);
        });
    }
    void poisson(unsigned *to, size_t count, double lambda) override {
        items(count, [=](State *s, uint64_t k) { to[k] = curand_poisson(s, lambda); });
    }
};

// ---- Philox: a thread makes four numbers at a time; calls may begin and end within four ----

struct Philox final : curandGenerator_st {
    static constexpr uint64_t THREADS = 65536;
    std::vector<unsigned long long> done;           // blocks that each thread has used
    uint64_t next = 0;                              // the place, of four each

    void begin() override {
        const uint64_t fours = offset / 4;
        done.resize(THREADS);
        for (uint64_t t = 0; t < THREADS; ++t) done[t] = fours / THREADS + (t < fours % THREADS);
        next = offset % (4 * THREADS);
    }
    uint4 block(uint64_t thread, unsigned long long number) const {
        uint4 c;
        uint2 key;
        c.x = (unsigned)number, c.y = (unsigned)(number >> 32), c.z = (unsigned)thread, c.w = 0;
        key.x = (unsigned)seed, key.y = (unsigned)(seed >> 32);
        return reactant_philox(c, key);
    }
    // make(thread, its block, four): each four uses `blocks`; those that the call does not reach the end of are not over.
    template <class T, class Make> void fours(T *to, uint64_t count, int blocks, const Make &make) {
        const uint64_t begun = next / 4, skipped = next % 4, last = (next + count + 3) / 4, finished = (next + count) / 4;
        const uint64_t rounds = (last + THREADS - 1) / THREADS;
        in_ranges(THREADS / 64, std::max<uint64_t>(1, 64 / (rounds + 1)), [&](uint64_t first_block, uint64_t end) {
            for (uint64_t t = first_block * 64; t < end * 64; ++t)
                for (uint64_t item = t < begun ? t + THREADS : t; item < last; item += THREADS) {
                    T four[4];
                    make(t, done[t], four);
                    for (uint64_t k = 0; k < 4; ++k) {
                        const uint64_t at = item * 4 + k - (begun * 4 + skipped);
                        if (item * 4 + k >= next && at < count) to[at] = four[k];
                    }
                    if (item < finished) done[t] += blocks;
                }
        });
        next = (next + count) % (4 * THREADS);
    }
    void bits(unsigned *to, size_t count) override {
        fours(to, count, 1, [this](uint64_t t, unsigned long long n, unsigned *four) {
            const uint4 x = block(t, n);
            four[0] = x.x, four[1] = x.y, four[2] = x.z, four[3] = x.w;
        });
    }
    void uniform(float *to, size_t count) override {
        fours(to, count, 1, [this](uint64_t t, unsigned long long n, float *four) {
            const uint4 x = block(t, n);
            four[0] = reactant_uniform(x.x), four[1] = reactant_uniform(x.y), four[2] = reactant_uniform(x.z);
            four[3] = reactant_uniform(x.w);
        });
    }
    void uniform(double *to, size_t count) override {
        fours(to, count, 2, [this](uint64_t t, unsigned long long n, double *four) {
            const uint4 x = block(t, n), y = block(t, n + 1);
            four[0] = reactant_uniform_double(x.x, x.y), four[1] = reactant_uniform_double(x.z, x.w);
            four[2] = reactant_uniform_double(y.x, y.y), four[3] = reactant_uniform_double(y.z, y.w);
        });
    }
    void normal(float *to, size_t count, float mean, float deviation, bool logarithm) override {
        fours(to, count, 1, [=](uint64_t t, unsigned long long n, float *four) {
            const uint4 x = block(t, n);
            const float2 a = reactant_normals(x.x, x.y), b = reactant_normals(x.z, x.w);
            four[0] = a.x, four[1] = a.y, four[2] = b.x, four[3] = b.y;
            for (int k = 0; k < 4; ++k) four[k] = shifted(four[k], mean, deviation, logarithm);
        });
    }
    void normal(double *to, size_t count, double mean, double deviation, bool logarithm) override {
        fours(to, count, 2, [=](uint64_t t, unsigned long long n, double *four) {
            const uint4 x = block(t, n), y = block(t, n + 1);
            const double2 a = reactant_normals_double(x.x, x.y, x.z, x.w), b = reactant_normals_double(y.x, y.y, y.z, y.w);
            four[0] = a.x, four[1] = a.y, four[2] = b.x, four[3] = b.y;
            for (int k = 0; k < 4; ++k) four[k] = shifted(four[k], mean, deviation, logarithm);
        });
    }
    void poisson(unsigned *to, size_t count, double lambda) override {
        fours(to, count, 1, [=](uint64_t t, unsigned long long n, unsigned *four) {
            const uint4 x = block(t, n);
            const unsigned each[4] = {x.x, x.y, x.z, x.w};
            for (int k = 0; k < 4; ++k) four[k] = reactant_poisson_at(reactant_uniform_double(each[k]), lambda);
        });
    }
};

// ---- Sobol: the dimensions one after another, as many points each ----

struct Sobol final : curandGenerator_st {
    uint64_t next = 0;
    void begin() override { next = offset; }
    size_t parts() const override { return dimensions; }
    template <class T, class Make> void points(T *to, size_t count, const Make &make) {
        const uint64_t each_one = count / dimensions;
        const unsigned *all = directions(dimensions);
        each(dimensions, 4 * each_one + 32, [&](uint64_t dimension) {
            curandStateSobol32 state;
            unsigned vectors[32];
            for (int k = 0; k < 32; ++k) vectors[k] = all ? all[dimension * 32 + k] : 0x80000000u >> k;
            curand_init(vectors, (unsigned)next, &state);
            for (uint64_t k = 0; k < each_one; ++k) to[dimension * each_one + k] = make(&state);
        });
        next += each_one;
    }
    void bits(unsigned *to, size_t count) override { points(to, count, [](auto *s) { return curand(s); }); }
    void uniform(float *to, size_t count) override { points(to, count, [](auto *s) { return curand_uniform(s); }); }
    void uniform(double *to, size_t count) override { points(to, count, [](auto *s) { return curand_uniform_double(s); }); }
    void normal(float *to, size_t count, float mean, float deviation, bool logarithm) override {
        points(to, count, [=](auto *s) { return shifted(curand_normal(s), mean, deviation, logarithm); });
    }
    void normal(double *to, size_t count, double mean, double deviation, bool logarithm) override {
        points(to, count, [=](auto *s) { return shifted(curand_normal_double(s), mean, deviation, logarithm); });
    }
    void poisson(unsigned *to, size_t count, double lambda) override {
        points(to, count, [=](auto *s) { return curand_poisson(s, lambda); });
    }
};

template <class T, class Work> curandStatus_t generated(curandGenerator_t generator, T *to, size_t count, size_t multiple,
                                                        Work work) {
    NEED_GENERATOR(generator);
    if (count % multiple || count % generator->parts()) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    if (!to && count) return CURAND_STATUS_OUT_OF_RANGE;
    const auto made = [=] {
        generator->ready();
        if (count) work(generator);
        generator->offset += count / generator->parts();        // another seed goes on from here
    };
    return in_stream(generator->stream, made) ? CURAND_STATUS_LAUNCH_FAILURE : CURAND_STATUS_SUCCESS;
}

bool is_quasi(curandGenerator_t generator) { return generator->type >= CURAND_RNG_QUASI_DEFAULT; }

}  // namespace

extern "C" {

curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type) {
    if (!generator) return CURAND_STATUS_OUT_OF_RANGE;
    if (broken()) return CURAND_STATUS_INITIALIZATION_FAILED;
    switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT: case CURAND_RNG_PSEUDO_XORWOW: *generator = new Sequences<curandStateXORWOW, 4096>; break;
    case CURAND_RNG_PSEUDO_MRG32K3A: *generator = new Sequences<curandStateMRG32k3a, 81920>; break;
    case CURAND_RNG_PSEUDO_PHILOX4_32_10: *generator = new Philox; break;
    case CURAND_RNG_QUASI_DEFAULT: case CURAND_RNG_QUASI_SOBOL32: *generator = new Sobol; break;
    default:
        fprintf(stderr, "reactant: cuRAND: generator %d (MTGP32, MT19937, scrambled or 64-bit Sobol) is not there; XORWOW, "
                "MRG32k3a, Philox 4x32-10 and Sobol32 are\n", (int)type);
        return CURAND_STATUS_TYPE_ERROR;
    }
    (*generator)->type = type;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t type) {
    return curandCreateGenerator(generator, type);
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
    NEED_GENERATOR(generator);
    delete generator;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetVersion(int *version) {
    if (!version) return CURAND_STATUS_OUT_OF_RANGE;
    *version = CURAND_VERSION;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetProperty(libraryPropertyType type, int *value) {
    if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL) return CURAND_STATUS_OUT_OF_RANGE;
    constexpr int parts[] = {CURAND_VER_MAJOR, CURAND_VER_MINOR, CURAND_VER_PATCH};
    *value = parts[type];
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
    NEED_GENERATOR(generator);
    generator->stream = stream;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
    NEED_GENERATOR(generator);
    if (is_quasi(generator)) return CURAND_STATUS_TYPE_ERROR;
    generator->seed = seed;
    generator->begun = false;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
    NEED_GENERATOR(generator);
    generator->offset = offset;
    generator->begun = false;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
    NEED_GENERATOR(generator);
    const bool plain = order == CURAND_ORDERING_PSEUDO_BEST || order == CURAND_ORDERING_PSEUDO_DEFAULT
                    || order == CURAND_ORDERING_PSEUDO_LEGACY;
    if (is_quasi(generator) ? order == CURAND_ORDERING_QUASI_DEFAULT : plain) return CURAND_STATUS_SUCCESS;
    fprintf(stderr, "reactant: cuRAND: the seeded and the dynamic order are not there; default, best and legacy are\n");
    return CURAND_STATUS_OUT_OF_RANGE;
}
curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned int dimensions) {
    NEED_GENERATOR(generator);
    if (!is_quasi(generator)) return CURAND_STATUS_TYPE_ERROR;
    if (dimensions < 1 || dimensions > MOST_DIMENSIONS) return CURAND_STATUS_OUT_OF_RANGE;
    if (dimensions > 1 && !directions(dimensions)) {
        fprintf(stderr, "reactant: cuRAND: Sobol numbers of more than one dimension need SciPy where a program is linked\n");
        return CURAND_STATUS_OUT_OF_RANGE;
    }
    generator->dimensions = dimensions;
    generator->begun = false;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
    return generated(generator, generator, 0, 1, [](curandGenerator_t) {});
}
curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int *to, size_t count) {
    return generated(generator, to, count, 1, [=](curandGenerator_t g) { g->bits(to, count); });
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float *to, size_t count) {
    return generated(generator, to, count, 1, [=](curandGenerator_t g) { g->uniform(to, count); });
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double *to, size_t count) {
    return generated(generator, to, count, 1, [=](curandGenerator_t g) { g->uniform(to, count); });
}
#define NORMAL(NAME, T, LOGARITHM)                                                                             \
    curandStatus_t NAME(curandGenerator_t generator, T *to, size_t count, T mean, T deviation) {               \
        NEED_GENERATOR(generator);                                                                             \
        return generated(generator, to, count, generator->pairs(), [=](curandGenerator_t g) {                  \
            g->normal(to, count, mean, deviation, LOGARITHM); });                                              \
    }
NORMAL(curandGenerateNormal, float, false)
NORMAL(curandGenerateNormalDouble, double, false)
NORMAL(curandGenerateLogNormal, float, true)
NORMAL(curandGenerateLogNormalDouble, double, true)
curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned int *to, size_t count, double lambda) {
    if (!(lambda > 0)) return CURAND_STATUS_OUT_OF_RANGE;
    return generated(generator, to, count, 1, [=](curandGenerator_t g) { g->poisson(to, count, lambda); });
}

}  // extern "C"
