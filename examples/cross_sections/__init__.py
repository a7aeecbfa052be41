"""Cross sections of a reactor's materials, looked up by a CUDA C++ kernel, and how reaction rates depend on them."""
