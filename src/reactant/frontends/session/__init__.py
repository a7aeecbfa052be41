"""One trace: the module under construction, calls, and the protocols of the user's classes."""
