import pytest

from reactant.cuda_programs.device.retarget import retargeted
from reactant.errors import UnsupportedError

TEXT = """target triple = "nvptx64-nvidia-cuda"
@c = dso_local addrspace(4) externally_initialized constant [4 x float] zeroinitializer, align 4
@s = internal addrspace(3) global [16 x i32] undef, align 4
@m = dso_local addrspace(1) externally_initialized global i32 3, section "reactant_managed", align 4
@d = dso_local addrspace(1) externally_initialized global i32 0, align 4
define dso_local ptx_kernel void @k(ptr noundef %x) #0 {
  store i32 1, ptr addrspacecast (ptr addrspace(3) @s to ptr), align 4
  %v = call i32 @_Z1fv()
  ret void
}
declare i32 @_Z1fv()
attributes #0 = { noinline nounwind "target-cpu"="sm_80" "target-features"="+ptx88,+sm_80" }
"""


def test_address_spaces_are_gone_and_known():
    module = retargeted(TEXT)
    assert module.kernels == ["k"] and list(module.shared) == ["s"] and list(module.constant) == ["c"]
    assert "addrspace" not in module.text and "sm_80" not in module.text and "store i32 1, ptr @s" in module.text
    assert "@c = externally_initialized global [4 x float]" in module.text
    assert "@m = external global i32" in module.text


def test_static_managed_variables_are_refused():
    with pytest.raises(UnsupportedError, match="managed variable m is static"):
        retargeted(TEXT.replace("@m = dso_local", "@m = internal"))
