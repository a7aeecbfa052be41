// What CUB programs include, precompiled for all of them (driver/precompiled.py).
#pragma once
#include <cub/cub.cuh>
