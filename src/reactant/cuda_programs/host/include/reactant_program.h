// Included before every source of a whole CUDA program, on the host's and on the device's side alike.
#pragma once
#define __REACTANT_PROGRAM__ 1
#define __CUDACC__ 1
#define __CUDACC_VER_BUILD__ 131
#include <stddef.h>
#include "reactant_cuda.h"
#undef __managed__
#ifdef __CUDA_ARCH__
#define __managed__ __attribute__((device, section("reactant_managed")))
#else
#define __managed__ __attribute__((section("reactant_managed")))
#endif
// The device's mathematics are there before the standard library's, which is constexpr in parts and so would count as
// code for both sides.
#include "reactant_program/std_functions.hpp"
// What nvcc's own header brings along: programs use assert, max, time, exit, memset and INT_MAX without includes.
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include "reactant_program/host_functions.hpp"
#include "reactant_program_api.h"
#if __has_include("reactant_program_device.h")
#include "reactant_program_device.h"
#endif
