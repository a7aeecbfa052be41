// What a program's time goes to, with REACTANT_CUDA_REPORT=FILE: written at its end, a name and a number a line.
#pragma once

#include "runtime.h"

namespace reactant {

struct Tally {
    const char *name;
    std::atomic<uint64_t> count{0}, bytes{0}, nanoseconds{0};
};

struct Report {
    Tally launches{"launches"}, woken{"woken"}, waiting{"waiting"}, joined{"joined"}, prepared{"prepared"};
    Tally copies{"copies"}, fills{"fills"}, allocations{"allocations"}, releases{"releases"};
};

Report *report_of_time();                       // nullptr: nobody asks

// Adds what happens until its end to a tally; what is within another one belongs to that.
class Timed {
public:
    explicit Timed(Tally Report::*which, uint64_t bytes = 0);
    ~Timed();
    Timed(const Timed &) = delete;
    Timed &operator=(const Timed &) = delete;

private:
    Tally *tally = nullptr;
    uint64_t start = 0;
};

// Threads that were woken, and what of their time they did not run blocks in.
class Woken {
public:
    Woken() : start(report_of_time() ? nanoseconds() : 0) {}
    void over(uint64_t busy) const;

private:
    uint64_t start;
};

}  // namespace reactant
