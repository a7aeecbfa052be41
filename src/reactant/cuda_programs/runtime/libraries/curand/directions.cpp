// Joe and Kuo's direction numbers (SIAM J. Sci. Comput. 30, 2008), which SciPy's wheel brings.
#include "random.h"

#ifdef REACTANT_DIRECTIONS
__asm__(".section .rodata,\"a\",@progbits\n.balign 16\nreactant_directions:\n.incbin \"" REACTANT_DIRECTIONS "\"\n"
        "reactant_directions_end:\n.text\n");
extern "C" const unsigned int reactant_directions[], reactant_directions_end[];
#else
static const unsigned int *const reactant_directions = nullptr, *const reactant_directions_end = nullptr;
#endif

namespace reactant::random {

const unsigned int *directions(unsigned dimensions) {
    return dimensions * 32ull <= (unsigned long long)(reactant_directions_end - reactant_directions) ? reactant_directions
                                                                                                  : nullptr;
}

}  // namespace reactant::random

using namespace reactant;

extern "C" curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t *vectors[], curandDirectionVectorSet_t set) {
    if (!vectors) return CURAND_STATUS_OUT_OF_RANGE;
    if (set != CURAND_DIRECTION_VECTORS_32_JOEKUO6 || !random::directions(random::MOST_DIMENSIONS)) {
        fprintf(stderr, "reactant: cuRAND: of the direction vectors, the plain ones of 32 bits are there, where SciPy was "
                "when the library was made\n");
        return CURAND_STATUS_OUT_OF_RANGE;
    }
    *vectors = (curandDirectionVectors32_t *)random::directions(random::MOST_DIMENSIONS);
    return CURAND_STATUS_SUCCESS;
}
