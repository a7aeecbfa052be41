#include "reactant_program_api.h"
