// There are no complex numbers of 16-bit floats of their own here: cuda::std::complex of them is not specialised.
#pragma once
