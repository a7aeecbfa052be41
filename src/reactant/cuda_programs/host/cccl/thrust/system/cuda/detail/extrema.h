// This system has no minima and maxima of its own: Thrust's generic ones are reductions.
#pragma once
#include <thrust/detail/config.h>
