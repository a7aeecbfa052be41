"""From LLVM IR to the structured form, step by step."""
