from __future__ import annotations
def possible(launch):
    return False
def emit_blocks_of_threads(f, launch, block):
    raise NotImplementedError
