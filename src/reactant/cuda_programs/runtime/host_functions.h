// Functions of the host that a stream runs, in order, on a thread of their own: the caller may hold a lock that they want.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>

#include "runtime.h"

namespace reactant {

class HostFunctions {
public:
    uint64_t add(std::function<void()> function);       // returns its position
    bool done(uint64_t position);
    uint64_t position();                                // of the last one
    void wait(uint64_t position);

private:
    void serve();
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> queue;
    uint64_t added = 0, finished = 0;
    bool running = false;
};

bool inside_host_function();

}  // namespace reactant
