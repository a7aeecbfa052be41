"""When a compiled result is wrong: the rewrite that did it (`bisection`), and a small module to show it (`shrinking`)."""
