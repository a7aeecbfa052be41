"""`reactant nvcc` and `reactant run app.cu`: nvcc's options, compilation, linking."""
