// Counting what a program's time goes to.
#include "report.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace reactant {

namespace {

const char *file_name = nullptr;
Report *counted = nullptr;
thread_local bool within = false;

void write_report() {
    FILE *file = fopen(file_name, "w");
    if (!file) { fprintf(stderr, "reactant: REACTANT_CUDA_REPORT=%s cannot be written\n", file_name); return; }
    Report &r = *counted;
    for (const Tally *t : {&r.launches, &r.woken, &r.waiting, &r.joined, &r.prepared, &r.copies, &r.fills, &r.allocations,
                           &r.releases})
        fprintf(file, "%s\t%llu\t%llu\t%.6f\n", t->name, (unsigned long long)t->count, (unsigned long long)t->bytes,
                (double)t->nanoseconds * 1e-6);
    fclose(file);
}

}  // namespace

Report *report_of_time() {
    static Report *const asked = [] {
        file_name = getenv("REACTANT_CUDA_REPORT");
        if (!file_name || !*file_name) return (Report *)nullptr;
        counted = new Report;
        atexit(write_report);
        return counted;
    }();
    return asked;
}

Timed::Timed(Tally Report::*which, uint64_t bytes) {
    Report *report = within ? nullptr : report_of_time();
    if (!report) return;
    within = true;
    tally = &(report->*which);
    ++tally->count, tally->bytes += bytes;
    start = nanoseconds();
}

Timed::~Timed() {
    if (!tally) return;
    tally->nanoseconds += nanoseconds() - start;
    within = false;
}

void Woken::over(uint64_t busy) const {
    Report *report = report_of_time();
    if (!report) return;
    const uint64_t took = nanoseconds() - start, all = took * (uint64_t)processors();
    ++report->woken.count, report->woken.nanoseconds += took;
    ++report->waiting.count, report->waiting.nanoseconds += all > busy ? all - busy : 0;
}

}  // namespace reactant
