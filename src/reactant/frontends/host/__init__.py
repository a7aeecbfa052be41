"""What reaches the world outside of the program: printing, warnings, logging, files, clocks."""
