#include "reactant_program_api.h"
#include "reactant_program/driver.h"
