// What programs with both include, precompiled for all of them (driver/precompiled.py).
#pragma once
#include "reactant_thrust.h"
#include "reactant_cub.h"
