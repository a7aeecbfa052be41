"""Host code that notes which numbers come from which, for derivatives of host functions."""
