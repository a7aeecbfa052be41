// CHECK counts; a failing one says its line. A program's subjects are functions, by name on the command line.
#pragma once
#include <cstdio>
#include <cstring>
static int checks_failed = 0;
#define CHECK(...) ((__VA_ARGS__) ? (void)0 : (void)(++checks_failed, printf("line %d: %s\n", __LINE__, #__VA_ARGS__)))
#define SAME(FOUND, WANTED) do { auto f_ = (FOUND); auto w_ = (WANTED);                                           \
    if (!(f_ == w_)) { ++checks_failed; printf("line %d: %s is %g, not %g\n", __LINE__, #FOUND, (double)f_, (double)w_); } } while (0)
struct Subject { const char *name; void (*run)(); };
static int run_subjects(const Subject *subjects, int count, int argc, char **argv) {
    for (int k = 0; k < count; ++k)
        if (argc < 2 || !strcmp(argv[1], subjects[k].name)) { subjects[k].run(); printf("%s done\n", subjects[k].name); }
    return checks_failed != 0;
}
