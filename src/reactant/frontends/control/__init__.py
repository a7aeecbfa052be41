"""`if`, `while` and `for` over run-time values: snapshots, joins, branches and loops."""
