// What runs launches: one alone (launch.cpp), or several that are joined (joining.cpp).
#pragma once

#include "runtime.h"

namespace reactant {

struct GridBarrier {
    std::atomic<unsigned> arrived{0}, round{0};
    unsigned parts = 1;
};

// What ReactantLaunch::runtime points to.
struct State { std::atomic<int> error{0}; GridBarrier barrier; };

uint64_t number_of_next_launch();
ReactantLaunch described(const Launch &launch, uint64_t number, State *state);

constexpr double wake_cost = 8000;              // nanoseconds: less work than that is not worth waking threads
constexpr double range_cost = 20000;            // of one range of blocks, so that threads share evenly

uint64_t grain_of(double work, uint64_t blocks);        // blocks of a range, of work in nanoseconds
void learn(Function &function, double cost);            // nanoseconds of a thread, of the launch that is over

// ---- launches that wait, to be run with those that follow ----

// What is to be left out, by REACTANT_CUDA_WITHOUT (a list): "joined" launches, "prepared" ones.
struct Without { bool joined, prepared; };
const Without &without();

// Whether a launch waits now: nobody can see the difference until `catch_up` (runtime.h).
bool kept(const Launch &launch, void *const *arguments, double work);
// Whether memory is none that launches access which wait.
bool beside_kept(const void *address, size_t bytes);

}  // namespace reactant
