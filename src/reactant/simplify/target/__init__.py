"""The last stage: forms that a target runs fastest."""
