build/medium.o: src/medium.cu \
  /work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program.h \
  /work/wt_cases/src/reactant/kernels/headers/reactant_cuda.h \
  /work/wt_cases/src/reactant/kernels/headers/reactant_names_aside.h \
  /work/wt_cases/src/reactant/kernels/headers/reactant_cuda_math.h \
  /work/wt_cases/src/reactant/kernels/headers/assert.h \
  /work/wt_cases/src/reactant/kernels/headers/cuda_runtime.h \
  /work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program_api.h \
  /work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/api.hpp \
  /work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/api.h \
  /work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/types.h \
  /work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/vectors.h \
  /work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/errors.inc \
  /work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/attributes.inc \
  /work/wt_cases/src/reactant/kernels/headers/reactant_names_back.h \
  /work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/std_functions.hpp \
  /work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/host_functions.hpp \
  /work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program_device.h \
  include/device.cuh include/seismic.h
/work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program.h:
/work/wt_cases/src/reactant/kernels/headers/reactant_cuda.h:
/work/wt_cases/src/reactant/kernels/headers/reactant_names_aside.h:
/work/wt_cases/src/reactant/kernels/headers/reactant_cuda_math.h:
/work/wt_cases/src/reactant/kernels/headers/assert.h:
/work/wt_cases/src/reactant/kernels/headers/cuda_runtime.h:
/work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program_api.h:
/work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/api.hpp:
/work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/api.h:
/work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/types.h:
/work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/vectors.h:
/work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/errors.inc:
/work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/attributes.inc:
/work/wt_cases/src/reactant/kernels/headers/reactant_names_back.h:
/work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/std_functions.hpp:
/work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program/host_functions.hpp:
/work/wt_cases/src/reactant/cuda_programs/host/include/reactant_program_device.h:
include/device.cuh:
include/seismic.h:
