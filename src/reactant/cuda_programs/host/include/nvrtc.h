#include "reactant_program/nvrtc.h"
