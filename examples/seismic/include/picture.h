#pragma once
#include <cstddef>
#include <cstdio>

// nx x nz points from `first` on, rows `pitch` apart; speeds in metres a second.
void write_picture(const char *file, const float *pressure, const float *speed, int nx, int nz, size_t pitch,
                   size_t first);
