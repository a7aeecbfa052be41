"""The structured form of a kernel, its interpreter, and how it is built."""
