"""Accesses of fields that are beside each other: rows of memory."""
import re

import pytest

from reactant.cuda_programs.device.fields import Places
from reactant.cuda_programs.device.layout import Layout
from tests.cuda_programs.device.test_vectors import group

FOUR = "  %d = shl i64 %i, 2\n"


def field(number, of="x"):
    return (f"  %o.{of}.{number} = or disjoint i64 %d, {number}\n"
            f"  %p.{of}.{number} = getelementptr float, ptr %{of}, i64 %o.{of}.{number}\n")


def loaded(number):
    return field(number) + f"  %v.{number} = load float, ptr %p.x.{number}, align 4\n"


def stored(number):
    return field(number, "y") + f"  store float %v.{number}, ptr %p.y.{number}, align 4\n"


def rows_read(text):
    return len(re.findall(r"= load <8 x float>, ptr %w", text))


def scattered(text):
    return len(re.findall(r"= load float|store float", text))


@pytest.mark.parametrize(("apart", "rows"), [(2, 2), (3, 3), (4, 4), (5, None)])
def test_one_field_of_a_few(apart, rows):
    text = group(f"  %d = mul i64 %i, {apart}\n  %r = getelementptr float, ptr %x, i64 %d\n"
                 "  %v = load float, ptr %r, align 4\n  store float %v, ptr %q, align 4\n  ret void\n")
    assert (rows_read(text), scattered(text)) == ((rows, 0) if rows else (0, 8))


def test_fields_share_rows_in_any_order():
    body = FOUR + "".join(loaded(k) for k in (2, 0, 3)) + "  %s.1 = fadd float %v.0, %v.2\n" \
        "  %s = fadd float %s.1, %v.3\n  store float %s, ptr %q, align 4\n  ret void\n"
    text = group(body)
    assert (rows_read(text), scattered(text)) == (4, 0)
    assert "i64 -8" in text                              # the first row begins at field 0, which is read second


def test_all_fields_are_written_in_rows():
    text = group(FOUR + "".join(loaded(k) for k in range(4)) + "".join(stored(k) for k in (3, 1, 0, 2))
                 + "  ret void\n")
    assert (rows_read(text), text.count("store <8 x float>"), scattered(text)) == (4, 4, 0)


@pytest.mark.parametrize("between", [
    "  store float 1.0, ptr %q, align 4\n", "  %z = load float, ptr %q, align 4\n",
    "  fence seq_cst\n", "  call void @other()\n"])
def test_what_may_be_the_same_memory_keeps_stores_in_order(between):
    text = group(FOUR + "".join(loaded(k) for k in range(4)) + stored(0) + stored(1) + between + stored(2)
                 + stored(3) + "  ret void\n")
    assert scattered(text) >= 32


def test_stores_between_loads_part_them():
    text = group(FOUR + loaded(0) + "  store float %v.0, ptr %q, align 4\n" + loaded(1)
                 + "  store float %v.1, ptr %q, align 4\n  ret void\n")
    assert rows_read(text) == 8


def test_some_fields_are_written_by_each_thread():
    text = group(FOUR + loaded(0) + stored(0) + "  ret void\n")
    assert (rows_read(text), text.count("store float")) == (4, 8)


def test_fields_of_threads_that_are_not_active_are_not_touched():
    text = group(FOUR + "  %c = icmp slt i32 %t, %n\n  br i1 %c, label %in, label %out\nin:\n" + loaded(0)
                 + "  store float %v.0, ptr %q, align 4\n  br label %out\nout:\n  ret void\n")
    assert rows_read(text) == 4 and text.count("= load float") == 8      # of whole groups, and of others


def test_places():
    lines = {"%a": "%a = getelementptr %pair, ptr %x, i64 %n, i32 1", "%m": "%m = add nsw i32 %k, 3",
             "%n": "%n = sext i32 %m to i64", "%b": "%b = getelementptr i8, ptr %a, i64 -4",
             "%c": "%c = getelementptr %pair, ptr %x, i64 %o", "%o": "%o = sext i32 %k to i64"}
    places = Places(lines, Layout("%pair = type { i32, double }\n"))
    assert places.of("%a") == (("%x", frozenset({("widened %k", 16)})), 56)
    assert places.of("%b")[1] == 52 and places.of("%c") == (places.of("%a")[0], 0)


NETWORK = ("  %two = shl i32 %t, 1\n  %low = and i32 %t, 3\n  %j = sub i32 %two, %low\n  %k = zext nneg i32 %j to i64\n"
           "  %pa = getelementptr float, ptr %shared.0, i64 %k\n  %pb = getelementptr i8, ptr %pa, i64 16\n"
           "  %a = load float, ptr %pa, align 4\n  %b = load float, ptr %pb, align 4\n"
           "  %c = fcmp ogt float %a, %b\n  br i1 %c, label %in, label %out\n"
           "in:\n  store float %b, ptr %pa, align 4\n  store float %a, ptr %pb, align 4\n  br label %out\n"
           "out:\n  ret void\n")


def test_pairs_of_a_sorting_network_are_two_rows():
    text = group(NETWORK)
    assert scattered(text) == 0 and "masked" not in text
    assert rows_read(text) == 4                          # those that are compared, and those that are written back


def test_what_may_be_anywhere_is_not_written_back():
    text = group(NETWORK.replace("%shared.0", "%x"))
    assert rows_read(text) == 2 and text.count("store float") == 2       # where not all are active: one by one
