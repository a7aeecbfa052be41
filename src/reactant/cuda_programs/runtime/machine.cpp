// What this machine has: CPU threads that may be used, memory, cache, clock.
#include <sched.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime.h"

namespace {

long number_in(const char *path) {
    long value = 0;
    if (FILE *file = fopen(path, "r")) {
        if (fscanf(file, "%ld", &value) != 1) value = 0;
        fclose(file);
    }
    return value;
}

int count_processors() {
    if (const char *text = getenv("REACTANT_CUDA_THREADS")) {
        int wanted = atoi(text);
        if (wanted > 0) return wanted < 1024 ? wanted : 1024;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? count : 1;
}

}  // namespace

namespace reactant {

int processors() {
    static const int count = count_processors();
    return count;
}

int clock_khz() {
    long khz = number_in("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    return khz > 0 ? (int)khz : 1000000;        // reactant_device_clock counts nanoseconds where nothing is said
}

int cache_bytes() {
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 && bytes < (1l << 30) ? (int)bytes : 32 << 20;
}

size_t memory_bytes() {
    struct sysinfo info;
    if (sysinfo(&info) != 0) return (size_t)1 << 32;
    size_t bytes = (size_t)info.totalram * info.mem_unit;
    long limit = number_in("/sys/fs/cgroup/memory.max");
    return limit > 0 && (size_t)limit < bytes ? (size_t)limit : bytes;
}

uint64_t nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

}  // namespace reactant
