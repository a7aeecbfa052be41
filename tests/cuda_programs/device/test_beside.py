"""Blocks that are run beside each other between barriers."""
from reactant.cuda_programs.device.text import split
from tests.cuda_programs.device.kernel_texts import BARRIER, MEETS, SREG, object_text

TILE = MEETS.replace("%u = add i32 %r, %t", f"""%b = call i32 {SREG}.ctaid.x()
  %o = shl i32 %b, 4
  %q = mul i32 %r, 64
  %w = add i32 %q, %o
  %u = add i32 %w, %t""") + f"declare i32 {SREG}.ctaid.x()\n"
LOOP = TILE.replace(f"  {BARRIER}", f"""  %limit = call i32 {SREG}.OF()
  br label %again
again:
  %k = phi i32 [ 0, %0 ], [ %k.next, %again ]
  {BARRIER}
  %k.next = add i32 %k, 1
  %more = icmp ult i32 %k.next, %limit
  br i1 %more, label %again, label %done
done:""") + f"declare i32 {SREG}.nctaid.x()\n"


def blocks_function(kernel, shape=(16, 4, 1)):
    name = ".".join(map(str, shape))
    return split(object_text(kernel, {"k": [shape]})).functions[f"reactant_blocks__k.block{name}"]


def test_a_row_of_all_blocks_is_run_before_the_next_row():
    text = blocks_function(TILE)
    assert "%r.ctaid.x.at.0 = add nuw nsw i32 %r.ctaid.x, %beside.at.0" in text
    assert text.index("\ny.at.0:") < text.index("\nb.at.0:") < text.index("\nx.at.0:")


def test_long_rows_and_single_rows_are_run_block_by_block():
    for shape in ((128, 4, 1), (64, 1, 1), (8, 8, 1)):
        assert "%beside" not in blocks_function(TILE, shape)


def test_blocks_that_may_wait_for_each_other_are_run_one_by_one():
    waiting = TILE.replace("store i32 %n, ptr %p", "%old = atomicrmw add ptr %x, i32 1 seq_cst")
    assert "%beside" not in blocks_function(waiting)


def test_blocks_that_meet_at_different_times_are_run_one_by_one():
    assert "%beside" in blocks_function(LOOP.replace("OF", "nctaid.x"))
    assert "%beside" not in blocks_function(LOOP.replace("OF", "ctaid.x"))


def test_blocks_that_fill_a_cache_are_run_one_by_one():
    def tiled(elements):
        tile = f"@s = internal addrspace(3) global [{elements} x float] undef, align 4\n"
        store = "store float 1.0, ptr addrspacecast (ptr addrspace(3) @s to ptr), align 4\n  "
        return tile + TILE.replace("store i32 %n", store + "store i32 %n")
    assert "%beside" in blocks_function(tiled(1000)) and "%beside" not in blocks_function(tiled(5000))


def test_blocks_whose_rows_do_not_adjoin_in_memory_are_run_one_by_one():
    assert "%beside" not in blocks_function(MEETS)
    assert "%beside" not in blocks_function(TILE.replace("%o = shl i32 %b, 4", "%o = shl i32 %b, 8"))
    assert "%beside" in blocks_function(TILE.replace("%o = shl i32 %b, 4", "%o = mul i32 %b, 16"))
