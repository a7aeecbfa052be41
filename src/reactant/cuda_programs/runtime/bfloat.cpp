// Roundings to bfloat16 that clang calls and compilers' libraries before GCC 13 do not have. To the nearest, ties to even.
#include <cstdint>
#include <cstring>

namespace {

__bf16 of_bits(uint16_t bits) {
    __bf16 made;
    std::memcpy(&made, &bits, sizeof made);
    return made;
}

uint16_t rounded(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40);         // stays no number
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace

extern "C" {

__attribute__((weak)) __bf16 __truncsfbf2(float x) { return of_bits(rounded(x)); }

// By way of a float that is odd where digits are lost, so that what follows rounds as if at once.
__attribute__((weak)) __bf16 __truncdfbf2(double x) {
    float near = (float)x;
    if ((double)near != x && x == x) {
        uint32_t bits;
        std::memcpy(&bits, &near, sizeof bits);
        const bool away = __builtin_fabs((double)near) > __builtin_fabs(x);
        if (away && bits & 0x7fffffffu) --bits;
        bits |= 1;
        std::memcpy(&near, &bits, sizeof near);
    }
    return of_bits(rounded(near));
}

}  // extern "C"
