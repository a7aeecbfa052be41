"""Operations of warps, and threads that part, in blocks of all sizes (programs/warps.cu)."""


def test_warps(ran):
    assert ran("warps.cu").endswith("0 bad\n")
