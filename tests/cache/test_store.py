"""Files of the compile cache: what is damaged is not used, others cannot put programs there, it stays within bounds."""
import os
import stat
import struct
import threading
import time

import pytest

from reactant import cache
from reactant.cache import store

KEY = "0" * 40


@pytest.fixture
def folder(tmp_path, monkeypatch):
    at = tmp_path / "programs"
    monkeypatch.setenv("REACTANT_CACHE", str(at))
    monkeypatch.setattr(store, "SETTINGS", store.Settings())
    store._sizes.cache_clear()
    return at


def file_of(folder, key=KEY):
    return folder / (key + store.SUFFIX)


def test_what_is_written_is_read(folder):
    assert store.read(KEY) is None
    assert store.write(KEY, b"content") and store.read(KEY) == b"content"
    assert store.write(KEY, b"") and store.read(KEY) == b""
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700 and stat.S_IMODE(os.stat(file_of(folder)).st_mode) == 0o600
    assert [each.name for each in folder.iterdir()] == [KEY + store.SUFFIX]


@pytest.mark.parametrize("damage", [
    lambda data: data[:-1], lambda data: data[:10], lambda data: b"", lambda data: data + b"x",
    lambda data: data[:-2] + b"?" + data[-1:], lambda data: b"X" + data[1:],
    lambda data: data[:len(store.MARK)] + struct.pack("<q", 2**62) + data[len(store.MARK) + 8:],
    lambda data: data[:len(store.MARK)] + struct.pack("<q", -1) + data[len(store.MARK) + 8:],
    lambda data: data[:store.HEAD - 1] + bytes([data[store.HEAD - 1] ^ 1]) + data[store.HEAD:],
])
def test_a_damaged_file_is_dropped(folder, damage):
    store.write(KEY, b"content of a program")
    path = file_of(folder)
    path.write_bytes(damage(path.read_bytes()))
    assert store.read(KEY) is None and not path.exists()
    store.write(KEY, b"content of a program")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.verify() == (0, [path]) and not path.exists()


def test_every_flipped_bit_is_seen():
    data = store.sealed(b"content")
    for at in range(len(data)):
        for bit in range(8):
            assert store.content_of(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:]) is None
    assert store.content_of(data) == b"content"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_to_is_refused(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    for act in (lambda: store.read(KEY), lambda: store.write(KEY, b""), cache.verify):
        with pytest.raises(cache.CacheError, match="chmod go-w"):
            act()


def test_so_is_one_in_a_folder_that_others_can_write_to(folder):
    folder.mkdir()
    folder.parent.chmod(0o777)
    with pytest.raises(cache.CacheError, match="chmod go-w"):
        store.read(KEY)
    folder.parent.chmod(0o700)


def test_so_is_somebody_elses(folder, monkeypatch):
    store.write(KEY, b"content")
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    if me:      # root's folders are anybody's to read
        with pytest.raises(cache.CacheError, match="somebody else"):
            store.read(KEY)


def test_several_write_at_once(folder):
    content = {f"{k:040x}": os.urandom(20_000) for k in range(4)}

    def work():
        for _ in range(30):
            for key, data in content.items():
                assert store.write(key, data)
                assert store.read(key) in (data, None)
    threads = [threading.Thread(target=work) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert all(store.read(key) == data for key, data in content.items())
    assert len(list(folder.iterdir())) == 4


def test_what_was_not_used_for_longest_goes_first(folder, monkeypatch):
    monkeypatch.setattr(store, "MOST_BYTES", 10_000)
    keys = [f"{k:040x}" for k in range(12)]
    for k, key in enumerate(keys):
        store.write(key, bytes(1000))
        os.utime(file_of(folder, key), (k, k)) if file_of(folder, key).exists() else None
        if k == 8:
            store.read(keys[0])
    left = {each.path.stem for each in store.kept()}
    assert keys[0] in left and keys[-1] in left and keys[1] not in left
    assert sum(each.nbytes for each in store.kept()) <= 10_000


def test_what_a_process_left_half_written_goes(folder):
    store.write(KEY, b"content")
    part = folder / ".abc.part"
    part.write_bytes(b"half")
    assert len(store.kept()) == 1 and part.exists()
    os.utime(part, (time.time() - 2 * store.OLD,) * 2)
    store.kept()
    assert not part.exists()


def test_it_goes_from_one_folder_to_another(folder, tmp_path, monkeypatch):
    store.write(KEY, b"content")
    file = tmp_path / "all.zip"
    assert cache.export(file) == 1 and cache.clear() == 1 and cache.info()["programs"] == 0
    assert cache.import_(file) == 1 and store.read(KEY) == b"content"
    (tmp_path / "none.zip").write_bytes(b"no archive")
    with pytest.raises(cache.CacheError, match="export"):
        cache.import_(tmp_path / "none.zip")


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr(store, "SETTINGS", store.Settings())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("REACTANT_CACHE")
    assert cache.directory() == tmp_path / "reactant" / "programs"
    monkeypatch.setenv("REACTANT_CACHE", "off")
    assert cache.directory() is None and store.is_off() and store.usable() is None and store.read(KEY) is None
    assert cache.directory(tmp_path / "x") == tmp_path / "x" and not store.is_off()
    with cache.turned_off():
        assert store.is_off() and store.read(KEY) is None


def test_reasons_are_kept(folder):
    store.note_reason("f", "it\nprints \x1b")
    store.note_reason("f", "it prints")
    assert cache.reasons() == ["f: it prints"]
    cache.clear()
    assert cache.reasons() == []


def test_a_reason_goes_when_it_is_none_any_more(folder):
    store.note_reason("f (a.py)", "it prints")
    store.note_reason("f (b.py)", "it prints")
    store.note_reason("f (a.py)", None)
    store.note_reason("g", None)
    assert cache.reasons() == ["f (b.py): it prints"]


def test_a_file_under_another_name_is_damaged(folder):
    store.write(KEY, b"content")
    other = file_of(folder, "1" * 40)
    file_of(folder).rename(other)
    assert store.read("1" * 40) is None and not other.exists()


def test_where_homes_are(monkeypatch, tmp_path):
    monkeypatch.setattr(store, "SETTINGS", store.Settings())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REACTANT_CACHE", "~/programs")
    assert cache.directory() == tmp_path / "programs"
    monkeypatch.setenv("REACTANT_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "nowhere")
    assert cache.directory() is None
