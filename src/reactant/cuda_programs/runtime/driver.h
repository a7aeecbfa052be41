// What the files of the driver API share.
#pragma once
#include <cstdio>

#include "reactant_program/driver.h"
#include "runtime.h"

namespace reactant {
CUresult result_of(cudaError_t error);
}  // namespace reactant
