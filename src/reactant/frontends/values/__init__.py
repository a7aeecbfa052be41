"""Python values that are known at run time only: lists of run-time length, one of several objects, None or a value."""
