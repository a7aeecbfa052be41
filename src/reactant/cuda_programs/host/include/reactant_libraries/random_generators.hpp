// The generators of cuRAND: bits. For kernels and, with other qualifiers, for the host's library.
//   Philox 4x32-10: Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
//   XORWOW: Marsaglia: "Xorshift RNGs" (J. Stat. Software 8, 2003), sequences 2^67 apart.
//   MRG32k3a: L'Ecuyer: "Good parameters ... for combined multiple recursive random number generators" (Oper. Res. 47,
//   1999), subsequences 2^76 and sequences 2^127 apart.
#pragma once
#include "random_types.h"

// What takes matrices is a function of the runtime: it is done once a thread.
REACTANT_RANDOM_OUTSIDE void reactant_xorwow_begin(unsigned long long seed, unsigned long long sequence,
                                                   unsigned long long offset, unsigned int *d_and_v);
REACTANT_RANDOM_OUTSIDE void reactant_xorwow_skip(unsigned long long count, int sequences, unsigned int *d_and_v);
REACTANT_RANDOM_OUTSIDE void reactant_mrg32k3a_begin(unsigned long long seed, unsigned long long sequence,
                                                     unsigned long long offset, unsigned int *both);
REACTANT_RANDOM_OUTSIDE void reactant_mrg32k3a_skip(unsigned long long count, int kind, unsigned int *both);

template <class State> REACTANT_RANDOM void reactant_no_normal_left(State *state) {
    state->boxmuller_flag = state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0;
    state->boxmuller_extra_double = 0;
}

// ---- Philox ----

REACTANT_RANDOM uint4 reactant_philox(uint4 c, uint2 key) {
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const unsigned long long a = 0xd2511f53ull * c.x, b = 0xcd9e8d57ull * c.z;
        uint4 next;
        next.x = (unsigned int)(b >> 32) ^ c.y ^ key.x;
        next.y = (unsigned int)b;
        next.z = (unsigned int)(a >> 32) ^ c.w ^ key.y;
        next.w = (unsigned int)a;
        c = next;
        key.x += 0x9e3779b9u;
        key.y += 0xbb67ae85u;
    }
    return c;
}

REACTANT_RANDOM void reactant_advance(curandStatePhilox4_32_10_t *s, unsigned long long blocks) {
    const unsigned long long low = ((unsigned long long)s->ctr.y << 32 | s->ctr.x) + blocks;
    const unsigned long long high = ((unsigned long long)s->ctr.w << 32 | s->ctr.z) + (low < blocks ? 1 : 0);
    s->ctr.x = (unsigned int)low;
    s->ctr.y = (unsigned int)(low >> 32);
    s->ctr.z = (unsigned int)high;
    s->ctr.w = (unsigned int)(high >> 32);
}

REACTANT_RANDOM void skipahead(unsigned long long n, curandStatePhilox4_32_10_t *state) {
    const unsigned int place = state->STATE + (unsigned int)(n & 3);
    state->STATE = place & 3;
    reactant_advance(state, (n >> 2) + (place >> 2));
    state->output = reactant_philox(state->ctr, state->key);
}

REACTANT_RANDOM void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t *state) {
    const unsigned long long high = ((unsigned long long)state->ctr.w << 32 | state->ctr.z) + n;
    state->ctr.z = (unsigned int)high;
    state->ctr.w = (unsigned int)(high >> 32);
    state->output = reactant_philox(state->ctr, state->key);
}

REACTANT_RANDOM void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                                 curandStatePhilox4_32_10_t *state) {
    state->ctr.x = state->ctr.y = 0;
    state->ctr.z = (unsigned int)subsequence;
    state->ctr.w = (unsigned int)(subsequence >> 32);
    state->key.x = (unsigned int)seed;
    state->key.y = (unsigned int)(seed >> 32);
    state->STATE = 0;
    reactant_no_normal_left(state);
    skipahead(offset, state);
}

REACTANT_RANDOM unsigned int curand(curandStatePhilox4_32_10_t *state) {
    const unsigned int at = state->STATE;
    const uint4 o = state->output;
    const unsigned int found = at == 0 ? o.x : at == 1 ? o.y : at == 2 ? o.z : o.w;
    if (at == 3) {
        reactant_advance(state, 1);
        state->output = reactant_philox(state->ctr, state->key);
    }
    state->STATE = (at + 1) & 3;
    return found;
}

REACTANT_RANDOM uint4 curand4(curandStatePhilox4_32_10_t *state) {
    const uint4 a = state->output;
    reactant_advance(state, 1);
    const uint4 b = state->output = reactant_philox(state->ctr, state->key);
    const unsigned int at = state->STATE;
    uint4 found;
    found.x = at == 0 ? a.x : at == 1 ? a.y : at == 2 ? a.z : a.w;
    found.y = at == 0 ? a.y : at == 1 ? a.z : at == 2 ? a.w : b.x;
    found.z = at == 0 ? a.z : at == 1 ? a.w : at == 2 ? b.x : b.y;
    found.w = at == 0 ? a.w : at == 1 ? b.x : at == 2 ? b.y : b.z;
    return found;
}

// ---- XORWOW ----

template <class Change> REACTANT_RANDOM void reactant_changed(curandStateXORWOW_t *s, Change change) {
    unsigned int all[6] = {s->d, s->v[0], s->v[1], s->v[2], s->v[3], s->v[4]};       // the state stays in registers
    change(all);
    s->d = all[0];
    s->v[0] = all[1], s->v[1] = all[2], s->v[2] = all[3], s->v[3] = all[4], s->v[4] = all[5];
}
REACTANT_RANDOM void skipahead(unsigned long long n, curandStateXORWOW_t *state) {
    reactant_changed(state, [=](unsigned int *all) { reactant_xorwow_skip(n, 0, all); });
}
REACTANT_RANDOM void skipahead_sequence(unsigned long long n, curandStateXORWOW_t *state) {
    reactant_changed(state, [=](unsigned int *all) { reactant_xorwow_skip(n, 1, all); });
}
REACTANT_RANDOM void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                                 curandStateXORWOW_t *state) {
    state->d = state->v[0] = state->v[1] = state->v[2] = state->v[3] = state->v[4] = 0;
    reactant_changed(state, [=](unsigned int *all) { reactant_xorwow_begin(seed, subsequence, offset, all); });
    reactant_no_normal_left(state);
}
REACTANT_RANDOM unsigned int curand(curandStateXORWOW_t *s) {
    const unsigned int t = s->v[0] ^ (s->v[0] >> 2), last = s->v[4];
    s->v[0] = s->v[1], s->v[1] = s->v[2], s->v[2] = s->v[3], s->v[3] = last;
    s->v[4] = (last ^ (last << 4)) ^ (t ^ (t << 1));
    s->d += 362437;
    return s->v[4] + s->d;
}

// ---- MRG32k3a ----

template <class Change> REACTANT_RANDOM void reactant_changed(curandStateMRG32k3a_t *s, Change change) {
    unsigned int all[6] = {s->s1[0], s->s1[1], s->s1[2], s->s2[0], s->s2[1], s->s2[2]};
    change(all);
    s->s1[0] = all[0], s->s1[1] = all[1], s->s1[2] = all[2], s->s2[0] = all[3], s->s2[1] = all[4], s->s2[2] = all[5];
}
REACTANT_RANDOM void skipahead(unsigned long long n, curandStateMRG32k3a_t *state) {
    reactant_changed(state, [=](unsigned int *all) { reactant_mrg32k3a_skip(n, 0, all); });
}
REACTANT_RANDOM void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t *state) {
    reactant_changed(state, [=](unsigned int *all) { reactant_mrg32k3a_skip(n, 1, all); });
}
REACTANT_RANDOM void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t *state) {
    reactant_changed(state, [=](unsigned int *all) { reactant_mrg32k3a_skip(n, 2, all); });
}
REACTANT_RANDOM void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                                 curandStateMRG32k3a_t *state) {
    state->s1[0] = state->s1[1] = state->s1[2] = state->s2[0] = state->s2[1] = state->s2[2] = 0;
    reactant_changed(state, [=](unsigned int *all) { reactant_mrg32k3a_begin(seed, subsequence, offset, all); });
    reactant_no_normal_left(state);
}
// A number from 1 to m1 = 2^32 - 209.
REACTANT_RANDOM unsigned int reactant_mrg32k3a(curandStateMRG32k3a_t *s) {
    const unsigned long long m1 = 4294967087ull, m2 = 4294944443ull;
    const unsigned long long a = (1403580ull * s->s1[1] + (m1 - 810728ull) * s->s1[0]) % m1;
    const unsigned long long b = (527612ull * s->s2[2] + (m2 - 1370589ull) * s->s2[0]) % m2;
    s->s1[0] = s->s1[1], s->s1[1] = s->s1[2], s->s1[2] = (unsigned int)a;
    s->s2[0] = s->s2[1], s->s2[1] = s->s2[2], s->s2[2] = (unsigned int)b;
    return (unsigned int)(a > b ? a - b : a + m1 - b);
}
REACTANT_RANDOM unsigned int curand(curandStateMRG32k3a_t *state) {
    const double spread = reactant_mrg32k3a(state) * 1.000000048662;         // by 2^32 / m1, over all 32 bits
    return spread < 4294967295.0 ? (unsigned int)spread : 4294967295u;
}

// ---- Sobol 32 ----

REACTANT_RANDOM void skipahead(unsigned int n, curandStateSobol32_t *state) {
    state->i += n;
    const unsigned int gray = state->i ^ (state->i >> 1);
    state->x = state->c;
    for (int bit = 0; bit < 32; ++bit)
        if (gray >> bit & 1) state->x ^= state->direction_vectors[bit];
}
REACTANT_RANDOM void curand_init(curandDirectionVectors32_t direction_vectors, unsigned int offset,
                                 curandStateSobol32_t *state) {
    for (int bit = 0; bit < 32; ++bit) state->direction_vectors[bit] = direction_vectors[bit];
    state->i = state->c = 0;
    skipahead(offset, state);
}
REACTANT_RANDOM unsigned int curand(curandStateSobol32_t *state) {
    const unsigned int found = state->x;
    const int place = __builtin_ctz(~state->i | 0x80000000u);
    state->x ^= state->direction_vectors[place];
    ++state->i;
    return found;
}
