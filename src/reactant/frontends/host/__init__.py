"""What reaches the world outside of the program: files, clocks, streams, filters of warnings."""
