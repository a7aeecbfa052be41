"""When a compiled result is wrong: which rewrite did it (`bisection`), and a small module that fails (`shrinking`)."""
