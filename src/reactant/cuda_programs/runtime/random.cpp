// What cuRAND's generators do with matrices: they jump ahead in their sequences. And Poisson numbers of middling means.
#include <array>
#include <cmath>
#include <memory>
#include <mutex>

#include <cstdint>

namespace {

// ---- XORWOW without its counter: a linear map of 160 bits ----

using Bits = std::array<uint32_t, 5>;

Bits stepped(Bits v) {
    const uint32_t t = v[0] ^ (v[0] >> 2);
    return {v[1], v[2], v[3], v[4], (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))};
}

struct Map { Bits image[160]; };            // of each bit

Bits image_of(const Map &map, const Bits &v) {
    Bits sum{};
    for (int word = 0; word < 5; ++word)
        for (uint32_t left = v[word]; left; left &= left - 1) {
            const Bits &image = map.image[word * 32 + __builtin_ctz(left)];
            for (int k = 0; k < 5; ++k) sum[k] ^= image[k];
        }
    return sum;
}

constexpr int SEQUENCE = 67, POWERS = SEQUENCE + 64;

// The maps of 2^k steps.
const Map *powers() {
    static const std::unique_ptr<const Map[]> made = [] {
        auto all = std::make_unique<Map[]>(POWERS);
        for (int bit = 0; bit < 160; ++bit) {
            Bits one{};
            one[bit / 32] = 1u << bit % 32;
            all[0].image[bit] = stepped(one);
        }
        for (int k = 1; k < POWERS; ++k)
            for (int bit = 0; bit < 160; ++bit) all[k].image[bit] = image_of(all[k - 1], all[k - 1].image[bit]);
        return all;
    }();
    return made.get();
}

void skip(Bits &v, uint64_t count, int first_power) {
    for (; count; count &= count - 1) v = image_of(powers()[first_power + __builtin_ctzll(count)], v);
}

// ---- MRG32k3a: two maps of three numbers, modulo m1 and m2 ----

constexpr uint64_t M1 = 4294967087, M2 = 4294944443;
using Matrix = std::array<uint64_t, 9>;

Matrix times(const Matrix &a, const Matrix &b, uint64_t m) {
    Matrix c{};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 3; ++k) c[3 * i + j] = (c[3 * i + j] + a[3 * i + k] * b[3 * k + j] % m) % m;
    return c;
}

constexpr int MATRICES = 127 + 64;
struct Doublings { Matrix one[MATRICES], other[MATRICES]; };

// The maps of 2^k steps.
const Doublings &doublings() {
    static const std::unique_ptr<const Doublings> made = [] {
        auto all = std::make_unique<Doublings>();
        all->one[0] = {0, 1, 0, 0, 0, 1, M1 - 810728, 1403580, 0};
        all->other[0] = {0, 1, 0, 0, 0, 1, M2 - 1370589, 0, 527612};
        for (int k = 1; k < MATRICES; ++k) {
            all->one[k] = times(all->one[k - 1], all->one[k - 1], M1);
            all->other[k] = times(all->other[k - 1], all->other[k - 1], M2);
        }
        return all;
    }();
    return *made;
}

void skip(uint32_t *state, const Matrix &a, uint64_t m) {
    uint64_t next[3];
    for (int i = 0; i < 3; ++i)
        next[i] = (a[3 * i] * state[0] % m + a[3 * i + 1] * state[1] % m + a[3 * i + 2] * state[2] % m) % m;
    for (int i = 0; i < 3; ++i) state[i] = (uint32_t)next[i];
}

}  // namespace

extern "C" {

void reactant_xorwow_skip(unsigned long long count, int sequences, unsigned int *d_and_v) {
    Bits v;
    for (int k = 0; k < 5; ++k) v[k] = d_and_v[k + 1];
    skip(v, count, sequences ? SEQUENCE : 0);
    for (int k = 0; k < 5; ++k) d_and_v[k + 1] = v[k];
    if (!sequences) d_and_v[0] += 362437u * (uint32_t)count;        // 2^67 steps are none modulo 2^32
}

void reactant_xorwow_begin(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                           unsigned int *d_and_v) {
    const uint32_t low = 1099087573u * ((uint32_t)seed ^ 0xaad26b49u);
    const uint32_t high = 2591861531u * ((uint32_t)(seed >> 32) ^ 0xf7dcefddu);
    const uint32_t state[6] = {6615241u + high + low, 123456789u + low, 362436069u ^ low, 521288629u + high,
                               88675123u ^ high, 5783321u + low};
    for (int k = 0; k < 6; ++k) d_and_v[k] = state[k];
    reactant_xorwow_skip(sequence, 1, d_and_v);
    reactant_xorwow_skip(offset, 0, d_and_v);
}

// kind: 0 steps, 1 subsequences of 2^76, 2 sequences of 2^127.
void reactant_mrg32k3a_skip(unsigned long long count, int kind, unsigned int *both) {
    for (const int first = kind == 0 ? 0 : kind == 1 ? 76 : 127; count; count &= count - 1) {
        const int k = first + __builtin_ctzll(count);
        skip(both, doublings().one[k], M1);
        skip(both + 3, doublings().other[k], M2);
    }
}

void reactant_mrg32k3a_begin(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                             unsigned int *both) {
    for (int k = 0; k < 6; ++k) both[k] = 12345;
    if (seed) {
        const uint64_t x = (uint32_t)seed ^ 0x55555555u, y = (uint32_t)(seed >> 32) ^ 0xaaaaaaaau;
        for (int k = 0; k < 6; ++k) {
            const uint64_t m = k < 3 ? M1 : M2, factor = (k == 1 || k == 3 || k == 5) ? y : x;
            both[k] = (uint32_t)(factor * both[k] % m);
        }
    }
    reactant_mrg32k3a_skip(sequence, 1, both);
    reactant_mrg32k3a_skip(offset, 0, both);
}

// The smallest k whose Poisson distribution function is at least u: sums from the mean outwards would lose nothing, but
// from k = lambda - 12 sqrt(lambda) on they start at less than 2^-60.
unsigned int reactant_poisson_at(double u, double lambda) {
    if (!(lambda > 0)) return 0;
    const double start = std::floor(lambda - 12 * std::sqrt(lambda));
    double k = start > 0 ? start : 0, term = std::exp(k * std::log(lambda) - lambda - std::lgamma(k + 1)), sum = term;
    while (sum < u && term > 1e-300) {
        ++k;
        term *= lambda / k;
        sum += term;
        if (k > lambda && term < sum * 1e-17) break;
    }
    return (unsigned int)k;
}

}  // extern "C"
