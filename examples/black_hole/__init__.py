"""A black hole's shadow from the data of eight radio telescopes: ehtim's own functions, gradients of them, L-BFGS."""
