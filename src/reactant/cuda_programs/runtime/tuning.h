// Which version of a kernel runs a launch, of those that `reactant nvcc --tune` compiles.
#pragma once

#include "runtime.h"

namespace reactant {

// How blocks are shared among CPU threads: `alone`, all by the one that launches; `fine`, one after the other by whoever
// is free; `coarse`, as many to each thread.
enum class Schedule { usual, alone, fine, coarse };
Schedule schedule();                            // of the launch that this thread runs

void forget_sites(const ReactantModule *module);        // of kernels that are gone

// A launch that is run by a version, and perhaps measured.
class Trial {
public:
    Trial(ReactantLaunch &launch, uint64_t threads);
    ~Trial();
    void rest(void *const *arguments);          // blocks that are too few for one of the version's
    Trial(const Trial &) = delete;
    Trial &operator=(const Trial &) = delete;

private:
    void coarsen(const struct ReactantVersion &version);

    ReactantLaunch &launch;
    const ReactantLaunch program;               // as the program has it
    struct Site *site;
    int version = 0;                            // 0: the kernel's own; k: its k-th other
    uint64_t covered = 0;                       // blocks that the version runs
    uint64_t threads, processor = 0, wall = 0, alone = 0;
    bool measured = false;
};

template <class Run>
void tuned(ReactantLaunch &launch, void *const *arguments, uint64_t threads, Run run) {
    Trial trial(launch, threads);
    run();
    trial.rest(arguments);
}

}  // namespace reactant
