"""Texts with run-time values in them: `print`, warnings, logging, and the errors of failed checks."""
