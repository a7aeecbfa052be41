// Choosing versions of kernels: by what was chosen before (a file in the user's cache), by measuring them in turn while
// the program runs, or as `reactant tune` says. REACTANT_CUDA_TUNE: "" (the file, and measuring), "choices" (the file
// alone), "off", or "=LABEL": this version of all kernels that have it. With "/alone", "/fine" or "/coarse" after it, as
// after the labels in the file, blocks are shared so among CPU threads (Schedule).
#include "tuning.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

static_assert(offsetof(ReactantLaunch, whole) == 72, "device/coarse_kernels.py");

namespace reactant {

namespace {

constexpr unsigned rounds = 7;                  // pairs of launches that a version is compared in
constexpr unsigned most_unmeasured = 16;        // launches too short, or beside others, after which it is given up
constexpr double better = 0.95, pairs_better = 0.8;
// Launches of less work are not measured: the clock would be what is.
constexpr uint64_t shortest = 20000;
constexpr unsigned shortest_row = 8;            // threads: one vector
constexpr uint64_t most_shared = 128 << 10;     // bytes of blocks that are run as one: a part of a second-level cache
constexpr const char *schedules[] = {"", "alone", "fine", "coarse"};
thread_local Schedule now = Schedule::usual;

enum class Mode { off, choices, measure, forced };

struct Sums { uint64_t launches = 0, processor = 0, wall = 0; };

}  // namespace

// A kernel launched with blocks of one shape and about as many of them.
struct Site {
    const ReactantKernel *kernel;
    std::string signature;
    std::vector<ReactantKernel> rows;           // the kernel's own, and its versions
    std::vector<Sums> sums;
    std::vector<std::vector<double>> ratios;    // a version's time to the own one's around it
    int choice = 0;
    Schedule schedule = Schedule::usual;
    bool decided = false;
    unsigned unmeasured = 0;
    unsigned turn = 0;
    double before = 0;                          // nanoseconds of a thread, of the last launch by the own version,
    double between = 0;                         // and of that by another since
    int other = 0;
};

namespace {

struct Key {
    const ReactantKernel *kernel; unsigned x, y, z, size;
    bool operator<(const Key &o) const {
        return std::tie(kernel, x, y, z, size) < std::tie(o.kernel, o.x, o.y, o.z, o.size);
    }
};

struct Tuner {
    std::mutex mutex;
    Mode mode = Mode::measure;
    std::string forced, file, report;
    Schedule schedule = Schedule::usual;        // of all sites
    std::map<Key, Site> sites;
    std::map<std::string, std::string> choices;         // "kernel\tsignature" -> label, as the file has them
    bool changed = false;
};

std::atomic<uint64_t> begun{0};                 // trials so far, of any thread
std::atomic<unsigned> running{0};

uint64_t processor_time() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// FNV-1a.
uint64_t hashed(const std::string &text) {
    uint64_t hash = 14695981039346656037u;
    for (unsigned char c : text) hash = (hash ^ c) * 1099511628211u;
    return hash;
}

std::string processor_name() {
    std::string found;
    if (FILE *file = fopen("/proc/cpuinfo", "r")) {
        char line[512];
        while (fgets(line, sizeof line, file) && strncmp(line, "processor\t: 1", 13) != 0)
            if (!strncmp(line, "model name", 10) || !strncmp(line, "cache size", 10)) found += line;
        fclose(file);
    }
    return found;
}

std::string cache_folder() {
    auto said = [](const char *name) { const char *text = getenv(name); return std::string(text ? text : ""); };
    if (std::string folder = said("REACTANT_CUDA_CACHE"); !folder.empty())
        return folder[0] == '~' ? said("HOME") + folder.substr(1) : folder;
    std::string base = said("XDG_CACHE_HOME");
    return (base.empty() ? said("HOME") + "/.cache" : base) + "/reactant/cuda";
}

void read_choices(Tuner &tuner) {
    FILE *file = fopen(tuner.file.c_str(), "r");
    if (!file) return;
    char line[8192];
    while (fgets(line, sizeof line, file)) {
        std::string text(line);
        size_t first = text.find('\t'), last = text.rfind('\t');
        if (text.empty() || text.back() != '\n' || first == last) continue;    // three columns
        tuner.choices[text.substr(0, last)] = text.substr(last + 1, text.size() - last - 2);
    }
    fclose(file);
}

void make_folders(const std::string &path) {
    for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
        mkdir(path.substr(0, at).c_str(), 0700);
}

// At the end of the program; a file that cannot be written is as if nothing had been found out.
void write_choices(const Tuner &tuner) {
    make_folders(tuner.file);
    std::string part = tuner.file + "." + std::to_string(getpid());
    FILE *file = fopen(part.c_str(), "w");
    if (!file) return;
    bool good = true;
    for (auto &[name, label] : tuner.choices) good &= fprintf(file, "%s\t%s\n", name.c_str(), label.c_str()) > 0;
    good &= fclose(file) == 0;
    if (!good || rename(part.c_str(), tuner.file.c_str()) != 0) unlink(part.c_str());
}

const char *version_of(const Site &site, size_t version) {
    return version ? site.kernel->versions[version - 1].label : "own";
}

std::string label_of(const Site &site, size_t version) {
    std::string label = version_of(site, version);
    return site.schedule == Schedule::usual ? label : label + "/" + schedules[(int)site.schedule];
}

void write_report(const Tuner &tuner) {
    FILE *file = fopen(tuner.report.c_str(), "w");
    if (!file) return;
    fprintf(file, "choices\t%s\nthreads\t%d\n", tuner.file.c_str(), processors());
    for (auto &[key, site] : tuner.sites) {
        for (size_t k = 0; k < site.rows.size(); ++k)
            fprintf(file, "version\t%s\t%s\t%s\t%llu\t%llu\t%llu\n", site.kernel->name, site.signature.c_str(),
                    label_of(site, k).c_str(), (unsigned long long)site.sums[k].launches,
                    (unsigned long long)site.sums[k].processor, (unsigned long long)site.sums[k].wall);
        fprintf(file, "chosen\t%s\t%s\t%s\n", site.kernel->name, site.signature.c_str(),
                label_of(site, (size_t)site.choice).c_str());
    }
    fclose(file);
}

// Takes the schedule from a label's end.
Schedule schedule_of(std::string *label) {
    size_t at = label->find('/');
    if (at == std::string::npos) return Schedule::usual;
    std::string name = label->substr(at + 1);
    label->resize(at);
    for (int k = 1; k < 4; ++k)
        if (name == schedules[k]) return (Schedule)k;
    return Schedule::usual;
}

Tuner *made = nullptr;

void at_end() {
    std::lock_guard<std::mutex> lock(made->mutex);
    if (made->changed && made->mode == Mode::measure) write_choices(*made);
    if (!made->report.empty()) write_report(*made);
}

Tuner &tuner() {
    static std::once_flag once;
    std::call_once(once, [] {
        made = new Tuner;
        const char *said = getenv("REACTANT_CUDA_TUNE"), *report = getenv("REACTANT_CUDA_TUNE_REPORT");
        std::string mode = said ? said : "";
        made->schedule = schedule_of(&mode);
        if (mode[0] == '=') made->mode = Mode::forced, made->forced = mode.substr(1);
        else if (mode == "off") made->mode = Mode::off;
        else if (mode == "choices") made->mode = Mode::choices;
        else if (!mode.empty())
            fprintf(stderr, "reactant: REACTANT_CUDA_TUNE=%s means nothing: off, choices or =LABEL\n", said);
        if (report) made->report = report;
        char name[64];
        snprintf(name, sizeof name, "/tuned/%016llx-%016llx-%d", (unsigned long long)hashed(tuned_modules()),
                 (unsigned long long)hashed(processor_name()), processors());
        made->file = cache_folder() + name;
        if (made->mode == Mode::choices || made->mode == Mode::measure) read_choices(*made);
        atexit(at_end);
    });
    return *made;
}

Site &site_of(Tuner &tuner, const ReactantLaunch &launch) {
    unsigned size = 63 - (unsigned)__builtin_clzll(launch.blocks);
    Key key{launch.kernel, launch.block[0], launch.block[1], launch.block[2], size};
    auto found = tuner.sites.find(key);
    if (found != tuner.sites.end()) return found->second;
    Site &site = tuner.sites[key];
    const ReactantKernel &kernel = *launch.kernel;
    site.kernel = &kernel;
    char text[96];
    snprintf(text, sizeof text, "%ux%ux%u/%u", key.x, key.y, key.z, size);
    site.signature = text;
    site.rows.assign(1 + kernel.version_count, kernel);
    for (unsigned k = 0; k < kernel.version_count; ++k) site.rows[k + 1].blocks = kernel.versions[k].blocks;
    site.sums.resize(site.rows.size());
    site.ratios.resize(site.rows.size());
    auto chosen = tuner.choices.find(std::string(kernel.name) + "\t" + site.signature);
    std::string wanted = tuner.mode == Mode::forced ? tuner.forced : chosen == tuner.choices.end() ? "" : chosen->second;
    site.decided = !wanted.empty() || tuner.mode != Mode::measure;
    site.schedule = schedule_of(&wanted);
    if (tuner.schedule != Schedule::usual) site.schedule = tuner.schedule;
    for (size_t k = 1; k < site.rows.size(); ++k)
        if (wanted == version_of(site, k)) site.choice = (int)k;
    return site;
}

// Whether there is any use in a version: rows of vectors, work for all CPU threads, shared memory that stays in a cache.
bool sensible(const ReactantVersion &version, const ReactantLaunch &launch) {
    const uint64_t merged = (uint64_t)version.merged[0] * version.merged[1] * version.merged[2];
    if (version.threads[0] > 1 && launch.block[0] / version.threads[0] < shortest_row) return false;
    if (merged == 1) return true;
    const uint64_t shared = launch.kernel->static_shared + launch.dynamic_shared;
    return launch.blocks / merged >= (uint64_t)processors() && merged * shared <= most_shared;
}

// Blocks that are left over have to be the last ones of the grid, so that they are run as a range.
bool fits(const ReactantVersion &version, const ReactantLaunch &launch) {
    if (!sensible(version, launch)) return false;
    for (unsigned k = 0; k < 3; ++k) {
        if (launch.block[k] % version.threads[k] != 0 || launch.grid[k] < version.merged[k]) return false;
        if (launch.grid[k] % version.merged[k] == 0) continue;
        for (unsigned j = k + 1; j < 3; ++j)
            if (launch.grid[j] > 1) return false;
    }
    return !(version.flags & REACTANT_VERSION_WARPS) || launch.block[0] / version.threads[0] % 32 == 0;
}

// The own version in every second launch, the others in turn between.
int next_version(Site &site, const ReactantLaunch &launch) {
    if (site.decided) return site.choice;
    unsigned turn = site.turn++;
    if (turn % 2 == 0) return 0;
    int version = (int)(turn / 2 % (site.rows.size() - 1)) + 1;
    if (fits(site.kernel->versions[version - 1], launch)) return version;
    site.ratios[(size_t)version].push_back(1);
    return 0;
}

void decide(Tuner &tuner, Site &site) {
    double best = better;
    for (size_t k = 1; k < site.ratios.size(); ++k) {
        std::vector<double> ratios = site.ratios[k];
        if (ratios.size() < rounds) return;
        std::sort(ratios.begin(), ratios.end());
        double median = ratios[ratios.size() / 2];
        if (median < best && ratios[(size_t)(pairs_better * (double)ratios.size())] < 1)
            best = median, site.choice = (int)k;
    }
    site.decided = true;
    tuner.changed = true;
    tuner.choices[std::string(site.kernel->name) + "\t" + site.signature] = label_of(site, (size_t)site.choice);
}

// A version's launch is compared with those of the own one before and after it.
void compare(Tuner &tuner, Site &site, int version, double each) {
    if (version) {
        site.other = version, site.between = each;
        return;
    }
    if (site.other && site.before > 0) site.ratios[(size_t)site.other].push_back(2 * site.between / (site.before + each));
    site.other = 0, site.before = each;
    decide(tuner, site);
}

}  // namespace

Schedule schedule() { return now; }

void forget_sites(const ReactantModule *module) {
    if (!made) return;
    std::lock_guard<std::mutex> lock(made->mutex);
    for (auto site = made->sites.begin(); site != made->sites.end();) {
        bool gone = site->first.kernel >= module->kernels && site->first.kernel < module->kernels + module->kernel_count;
        site = gone ? made->sites.erase(site) : std::next(site);
    }
}

Trial::Trial(ReactantLaunch &launch, uint64_t threads) : launch(launch), program(launch), site(nullptr),
                                                         covered(launch.blocks), threads(threads) {
    Tuner &all = tuner();
    if (all.mode == Mode::off) return;
    std::lock_guard<std::mutex> lock(all.mutex);
    site = &site_of(all, launch);
    version = inside_kernel() ? site->choice : next_version(*site, launch);
    if (version) {
        const ReactantVersion &other = program.kernel->versions[version - 1];
        if (fits(other, launch)) coarsen(other);
        else version = 0;
    }
    launch.kernel = &site->rows[(size_t)version];
    if (!inside_kernel()) now = site->schedule;
    measured = !inside_kernel() && (!site->decided || !all.report.empty());
    if (!measured) return;
    alone = running.fetch_add(1) == 0 ? begun.fetch_add(1) + 1 : (begun.fetch_add(1), 0);
    processor = processor_time(), wall = nanoseconds();
}

// The launch by fewer and larger blocks, of fewer threads.
void Trial::coarsen(const ReactantVersion &version) {
    uint64_t merged = 1;
    launch.blocks = 1;
    for (unsigned k = 0; k < 3; ++k) {
        launch.whole[k] = launch.grid[k];
        launch.grid[k] /= version.merged[k], launch.block[k] /= version.threads[k];
        merged *= version.merged[k], launch.blocks *= launch.grid[k];
    }
    covered = launch.blocks * merged;
    if (merged > 1) launch.dynamic_shared = merged * ((launch.dynamic_shared + 63) & ~(uint64_t)63);
}

void Trial::rest(void *const *arguments) {
    if (covered < program.blocks && !failed(&program)) run_blocks(&program, arguments, covered, program.blocks);
}

Trial::~Trial() {
    launch = program;
    if (!inside_kernel()) now = Schedule::usual;
    if (!measured) return;
    uint64_t took = processor_time() - processor, passed = nanoseconds() - wall;
    running.fetch_sub(1);
    Tuner &all = tuner();
    std::lock_guard<std::mutex> lock(all.mutex);
    Sums &sums = site->sums[(size_t)version];
    sums.launches += 1, sums.processor += took, sums.wall += passed;
    if (site->decided) return;
    if (took < shortest || !alone || begun.load() != alone) {   // beside another launch, which the clock counts as well
        site->other = 0, site->before = 0;
        if (++site->unmeasured == most_unmeasured) site->decided = true;       // in this process, by the own version
        return;
    }
    compare(all, *site, version, (double)took / (double)threads);
}

}  // namespace reactant
