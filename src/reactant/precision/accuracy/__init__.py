"""A program beside itself in more precision: every float with a wider twin, and what each operation makes of errors."""
