// The threads that run blocks: started at the first launch that needs them, asleep between launches.
#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <thread>

#include "runtime.h"

namespace {

using reactant::Part;

// One range of items a thread; whoever is through with its own takes from the others.
struct alignas(64) Range { std::atomic<uint64_t> next; uint64_t end; };

struct Job {
    Part part; void *context; uint64_t grain; unsigned threads; bool shared;
    Range *ranges;
};

void take(const Job &job, unsigned which) {
    Range &range = job.ranges[which];
    for (;;) {
        uint64_t first = range.next.fetch_add(job.grain, std::memory_order_relaxed);
        if (first >= range.end) return;
        uint64_t last = first + job.grain;
        job.part(job.context, first, last < range.end ? last : range.end);
    }
}

thread_local bool inside = false;

void work(const Job &job, unsigned mine) {
    inside = true;
    take(job, mine);
    if (job.shared)
        for (unsigned k = 1; k < job.threads; ++k) take(job, (mine + k) % job.threads);
    inside = false;
}

class Pool {
public:
    explicit Pool(unsigned threads) : ranges(new Range[threads]), size(threads) {
        for (unsigned k = 1; k < threads; ++k) {
            pthread_t thread;       // detached: they end with the process, whatever main does
            auto *start = new Start{this, k};
            if (pthread_create(&thread, nullptr, &Pool::entry, start) != 0) { size = k; delete start; break; }
            pthread_detach(thread);
        }
    }

    void run(uint64_t items, uint64_t grain, unsigned threads, bool shared, Part part, void *context) {
        std::lock_guard<std::mutex> one_at_a_time(launching);
        if (threads > size) threads = size;
        uint64_t first = 0;
        for (unsigned k = 0; k < threads; ++k) {
            uint64_t last = items / threads * (k + 1) + (items % threads) * (k + 1) / threads;
            ranges[k].next.store(first, std::memory_order_relaxed);
            ranges[k].end = first = last;
        }
        job = Job{part, context, grain, threads, shared, ranges.get()};
        left.store(size - 1, std::memory_order_relaxed);       // all of them: nobody may still look at the job after
        {
            std::lock_guard<std::mutex> lock(mutex);
            turn.fetch_add(1, std::memory_order_release);
        }
        wake.notify_all();
        work(job, 0);
        for (unsigned spins = 0; left.load(std::memory_order_acquire) != 0; ++spins)
            if (spins < 2000) __builtin_ia32_pause();
            else std::this_thread::yield();
    }

    unsigned threads() const { return size; }

private:
    struct Start { Pool *pool; unsigned number; };

    static void *entry(void *data) {
        Start start = *(Start *)data;
        delete (Start *)data;
        start.pool->serve(start.number);
        return nullptr;
    }

    void serve(unsigned number) {
        uint64_t seen = 0;
        for (;;) {
            for (unsigned spins = 0; spins < 4000 && turn.load(std::memory_order_acquire) == seen; ++spins)
                __builtin_ia32_pause();
            if (turn.load(std::memory_order_acquire) == seen) {
                std::unique_lock<std::mutex> lock(mutex);
                wake.wait(lock, [&] { return turn.load(std::memory_order_acquire) != seen; });
            }
            seen = turn.load(std::memory_order_acquire);
            if (number < job.threads) work(job, number);
            left.fetch_sub(1, std::memory_order_release);
        }
    }

    std::mutex launching, mutex;
    std::condition_variable wake;
    std::atomic<uint64_t> turn{0};
    std::atomic<unsigned> left{0};
    Job job{};
    std::unique_ptr<Range[]> ranges;
    unsigned size;
};

std::atomic<Pool *> made{nullptr};
std::mutex making;

Pool &pool() {
    Pool *found = made.load(std::memory_order_acquire);
    if (found) return *found;
    std::lock_guard<std::mutex> lock(making);
    if (!made.load()) {
        pthread_atfork(nullptr, nullptr, [] { made.store(nullptr); });     // a child has no threads: it makes its own
        made.store(new Pool((unsigned)reactant::processors()), std::memory_order_release);
    }
    return *made.load();
}

}  // namespace

namespace reactant {

bool inside_parallel() { return inside; }

void parallel(uint64_t items, uint64_t grain, Part part, void *context) {
    if (items == 0) return;
    if (inside || processors() == 1 || items <= grain) return part(context, 0, items);
    pool().run(items, grain, (unsigned)processors(), true, part, context);
}

void together(uint64_t items, unsigned parts, Part part, void *context) {
    if (items == 0) return;
    if (parts <= 1) return part(context, 0, items);
    pool().run(items, items, parts, false, part, context);
}

}  // namespace reactant
