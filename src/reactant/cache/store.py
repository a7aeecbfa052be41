"""Files of the compile cache: one for each program, under the digest of all that it depends on.

A file is a mark, the length and the digest of what follows, and that. It is written under another name and renamed, so
that readers see all of it or nothing, and several processes may write at once: they write the same. What is damaged is
removed and made again. A folder that others could write to is refused: who can write a program can have it run.
"""
from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import threading
import time
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from reactant.errors import ReactantError
from reactant.support import folders
from reactant.support.records import dataclass

MARK = b"reactant program 2\n"
HEAD = len(MARK) + 8 + 32
SUFFIX = ".program"
REASON = ".reason"
MOST_BYTES = 2 << 30
"""What all files together may take; those go first that have not been used for longest."""
TRIMMED = 0.8
"""To what part of that they are reduced."""
OLD = 3600.0
"""Seconds after which a file that nobody has renamed belongs to a process that is gone."""
OTHERS = stat.S_IWGRP | stat.S_IWOTH
OFF = ("off", "0", "no", "false")


class CacheError(ReactantError):
    """The compile cache cannot be used as it is: others can write to its folder, or a file is none of its own.

    Example:
        >>> try:
        ...     reactant.cache.import_("nothing.zip")
        ... except reactant.cache.CacheError as error:
        ...     print(error.code)
        compile-cache
    """

    code = "compile-cache"


@dataclass(frozen=True)
class Kept:
    """A file of the cache: its name, its bytes, when it was last used."""

    path: Path
    nbytes: int
    used: float


class Settings:
    """Where the cache is. `folder` None: where REACTANT_CACHE says, or the user's folder for caches."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.off: bool | None = None


SETTINGS = Settings()


def directory(path: str | os.PathLike | None = None) -> Path | None:
    """The folder of the compile cache.

    Args:
        path: use this folder from now on in this process, which is made when something is kept; None: only tell.
            What is wrong with a folder is told when it is first used.

    Returns:
        The folder, or None where REACTANT_CACHE turns the cache off.

    Example:
        >>> folder = reactant.cache.directory()     # PosixPath('/home/me/.cache/reactant/programs')
    """
    if path is not None:
        SETTINGS.folder, SETTINGS.off = Path(path), False
    if SETTINGS.folder is not None:
        return SETTINGS.folder
    said = os.environ.get("REACTANT_CACHE", "")
    if said.lower() in OFF:
        return None
    found = Path(os.path.expanduser(said)) if said else Path(folders.home()) / "programs"
    return found if said or found.is_absolute() else None       # a user without a home has no folder for caches


@contextlib.contextmanager
def turned_off() -> Iterator[None]:
    """A context in which no program is looked up in the compile cache or kept there.

    Returns:
        The context manager.

    Example:
        >>> with reactant.cache.turned_off():
        ...     reactant.jit(lambda x: x * 2)(3.0)
        6.0
    """
    before, SETTINGS.off = SETTINGS.off, True
    try:
        yield
    finally:
        SETTINGS.off = before


def usable(make: bool = False) -> Path | None:
    """The folder, where it is safe; None where the cache is off or the folder is not there. make: make it.

    Raises `CacheError` where others could write to it."""
    folder = None if SETTINGS.off else directory()
    if folder is None:
        return None
    if make:
        try:
            for each in (*reversed(folder.parents), folder):        # those above, too, are only the user's
                if not each.exists():
                    each.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            return None
    return _checked(folder)


def _checked(folder: Path) -> Path | None:
    try:
        at = Path(os.path.realpath(folder, strict=True))
        found = os.stat(at)
    except OSError:
        return None
    if not hasattr(os, "getuid") or not stat.S_ISDIR(found.st_mode):
        return folder if stat.S_ISDIR(found.st_mode) else None
    if found.st_uid not in (os.getuid(), 0):
        raise CacheError(f"The compile cache {folder} belongs to somebody else, who could put programs there.",
                         hint="Choose another folder with REACTANT_CACHE, or REACTANT_CACHE=off.")
    if found.st_mode & OTHERS:
        raise CacheError(f"Others can write to the compile cache {folder}, and what they put there would be run as "
                         f"yours.", hint=f"Say `chmod go-w {folder}`, or choose another folder with REACTANT_CACHE.")
    for above in at.parents:        # who can rename it can put another one in its place
        told = os.stat(above)
        if told.st_uid not in (os.getuid(), 0) or told.st_mode & OTHERS and not told.st_mode & stat.S_ISVTX:
            raise CacheError(f"Others can write to {above}, in which the compile cache {folder} is, and could put "
                             f"another one in its place.", hint=f"Say `chmod go-w {above}`, or choose another folder "
                             f"with REACTANT_CACHE.")
    return folder


def is_off() -> bool:
    """Whether no program is looked up or kept in this process."""
    return bool(SETTINGS.off) or directory() is None


def read(key: str) -> bytes | None:
    """What is kept under a key; None where there is nothing, or it is damaged."""
    folder = usable()
    if folder is None:
        return None
    path = folder / (key + SUFFIX)
    try:
        with open(path, "rb") as file:
            data = file.read()
            owner = os.fstat(file.fileno()).st_uid
    except OSError:
        return None
    content = content_of(data, key)
    if content is None or hasattr(os, "getuid") and owner not in (os.getuid(), 0):
        drop(key)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return content


def content_of(data: bytes, key: str = "") -> bytes | None:
    """What a file holds; None where it is damaged, or another key's."""
    if len(data) < HEAD or not data.startswith(MARK):
        return None
    length, = struct.unpack_from("<q", data, len(MARK))
    content = data[HEAD:]
    if len(content) != length or _digest(content, key) != data[len(MARK) + 8:HEAD]:
        return None
    return content


def sealed(content: bytes, key: str = "") -> bytes:
    """The bytes of a file that holds this."""
    return MARK + struct.pack("<q", len(content)) + _digest(content, key) + content


def _digest(content: bytes, key: str) -> bytes:
    made = hashlib.blake2b(key.encode(), digest_size=32)
    made.update(content)
    return made.digest()


def write(key: str, content: bytes) -> bool:
    """Keep something under a key; whether that was possible."""
    folder = usable(make=True)
    if folder is None:
        return False
    try:
        folders.put(folder / (key + SUFFIX), sealed(content, key))
    except OSError:
        return False
    _count(folder, len(content) + HEAD)
    return True


def drop(key: str) -> None:
    """Forget what is kept under a key."""
    if (folder := usable()) is not None:
        _remove(folder / (key + SUFFIX))


def _remove(path: str | Path) -> None:
    """Remove a file, which another process may have done."""
    with contextlib.suppress(OSError):
        os.unlink(path)


_lock = threading.Lock()


@cache
def _sizes() -> dict[Path, int]:
    return {}


def _count(folder: Path, nbytes: int) -> None:
    """Look at all files when a process first writes, and again when they may have become too many."""
    with _lock:
        sizes = _sizes()
        if folder not in sizes:
            sizes[folder] = sum(each.nbytes for each in kept(folder))
        else:
            sizes[folder] += nbytes
        if sizes[folder] > MOST_BYTES:
            sizes[folder] = trim(folder)


def kept(folder: Path | None = None) -> list[Kept]:
    """The files of the cache, those used last at the end."""
    folder = folder or directory()
    found = []
    if folder is not None:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.name.endswith(SUFFIX):
                        told = entry.stat()
                        found.append(Kept(Path(entry.path), told.st_size, told.st_mtime))
                    elif entry.name.endswith(".part") and entry.stat().st_mtime < time.time() - OLD:
                        _remove(entry.path)
    return sorted(found, key=lambda each: each.used)


def trim(folder: Path, most: int | None = None) -> int:
    """Remove what has not been used for longest, until the rest takes less than four fifths of `most`; its bytes."""
    files = kept(folder)
    total = sum(each.nbytes for each in files)
    limit = int(TRIMMED * (MOST_BYTES if most is None else most))
    for each in files:
        if total <= limit:
            break
        _remove(each.path)
        total -= each.nbytes
    return total


def clear() -> int:
    """Remove every program from the compile cache.

    Returns:
        How many there were.

    Example:
        >>> count = reactant.cache.clear()
    """
    files = kept()
    for path in (*(each.path for each in files), *_reasons()):
        _remove(path)
    _sizes().clear()
    return len(files)


def note_reason(name: str, reason: str | None) -> None:
    """Write down why the programs of a function are not kept, for `reactant cache info`; None: they are."""
    folder = usable(make=reason is not None)
    if folder is None:
        return
    path = folder / (hashlib.blake2b(name.encode(), digest_size=10).hexdigest() + REASON)
    if reason is None:
        _remove(path)
        return
    told = f"{name}: {reason}".encode("ascii", "backslashreplace").decode().replace("\n", " ")
    with contextlib.suppress(OSError):
        path.write_text(told + "\n")


def _reasons() -> list[Path]:
    folder = directory()
    return [] if folder is None else sorted(folder.glob("*" + REASON))


def reasons() -> list[str]:
    """Why programs of functions were not kept in the compile cache, as `reactant cache info` prints it.

    Returns:
        A line for each function, with its file and the reason. `reactant.explain` has that of one program.

    Example:
        >>> for line in reactant.cache.reasons():
        ...     print(line)
    """
    found = []
    for path in _reasons():
        with contextlib.suppress(OSError, UnicodeError):
            found.append(path.read_text().strip())
    return found


def verify() -> tuple[int, list[Path]]:
    """Check length and digest of every file of the compile cache, and remove what is damaged.

    Returns:
        How many programs are sound, and the paths of those that were removed.

    Raises:
        CacheError: where others can write to the folder.

    Example:
        >>> sound, removed = reactant.cache.verify()
    """
    removed = []
    files = kept(usable())
    for each in files:
        try:
            sound = content_of(each.path.read_bytes(), each.path.stem) is not None
        except OSError:
            continue
        if not sound:
            removed.append(each.path)
            _remove(each.path)
    return len(files) - len(removed), removed


def export(file: str | os.PathLike) -> int:
    """Write all programs of the compile cache into one file. They serve where versions and the machine are the same.

    Args:
        file: where it is written, as a zip archive.

    Returns:
        How many programs it has.

    Raises:
        CacheError: where others can write to the folder of the cache.

    Example:
        >>> count = reactant.cache.export("programs.zip")
    """
    files = kept(usable())
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for each in files:
            archive.write(each.path, each.path.name)
    return len(files)


def import_(file: str | os.PathLike) -> int:
    """Take the programs of a file that `export` has written into the compile cache.

    Programs are machine code: import files only from people whose programs you would run. What is damaged is left out.

    Args:
        file: the file.

    Returns:
        How many programs were taken.

    Raises:
        CacheError: where the file is none of `export`'s, or others can write to the folder of the cache.

    Example:
        >>> count = reactant.cache.export("programs.zip")
        >>> reactant.cache.import_("programs.zip") == count
        True
    """
    count = 0
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                key = info.filename.removesuffix(SUFFIX)
                if not key.isalnum() or info.filename != key + SUFFIX or info.file_size > MOST_BYTES:
                    continue
                content = content_of(archive.read(info), key)
                count += content is not None and write(key, content)
    except (OSError, zipfile.BadZipFile) as error:
        raise CacheError(f"{os.fspath(file)!r} is no file of `reactant cache export` ({error}).") from error
    return count


def info() -> dict[str, Any]:
    """Where the compile cache is, and how much it has.

    Returns:
        A dict of the `directory` (None where it is off), the numbers of `programs` and `bytes`, and the `most_bytes`
        that it may take.

    Example:
        >>> sorted(reactant.cache.info())
        ['bytes', 'directory', 'most_bytes', 'programs']
    """
    files = kept()
    return {"directory": directory(), "programs": len(files), "bytes": sum(each.nbytes for each in files),
            "most_bytes": MOST_BYTES}
