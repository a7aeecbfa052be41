"""From a call of a compiled function to a program: signatures, tracing, compiled programs, results."""
