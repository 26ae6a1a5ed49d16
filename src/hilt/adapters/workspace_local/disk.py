"""Files on a disk under one or more roots, in plain blocking calls; errors are `OSError`s."""

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hilt.adapters.workspace_local.beneath import DIRECTORY, Beneath, rename_new
from hilt.core.files.path import below, is_system, joined, normalised, split_last

HASHED_MAX_BYTES = 16 << 20
_CHUNK_BYTES = 1 << 18
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

# Between the last look at a file and the step that replaces it no other writer of this process may come.
_REPLACING = threading.Lock()


class OutsideError(OSError):
    """The path lies or leads outside every root."""


class ChangedError(OSError):
    """The file has another version than expected."""


class NotRegularError(OSError):
    """What is there is no regular file; `mode` is its mode."""

    def __init__(self, mode: int) -> None:
        super().__init__(errno.EINVAL, "not a regular file")
        self.mode = mode


class TooLongError(OSError):
    """The file has more bytes than asked for; `size` of them."""

    def __init__(self, size: int) -> None:
        super().__init__(errno.EFBIG, "too large")
        self.size = size


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a root: normalised, relative, `.` for the root."""

    root: Beneath
    path: str

    @property
    def absolute(self) -> str:
        """The place as an absolute path."""
        return joined(self.root.path, self.path)


class Disk:
    """The first root is the workspace; the others are added to it."""

    def __init__(self, root: str, extra_roots: Iterable[str] = (), *, one_step: bool = True) -> None:
        """Open all roots.

        Raises:
            OSError: One is no directory or cannot be opened.
        """
        self._written = [os.path.abspath(one) for one in (root, *extra_roots)]
        self.roots = [Beneath(one, one_step=one_step) for one in self._written]

    def close(self) -> None:
        """Let the roots go."""
        for root in self.roots:
            root.close()

    # ------------------------------------------------------------ where a path leads

    def absolute(self, path: str) -> str:
        """Return the path made absolute by text alone; `~/` is the home directory."""
        if path == "~" or path.startswith("~/"):
            path = os.path.expanduser(path)
        return joined(self._written[0], path)

    def relative(self, path: str) -> str:
        """Return a normalised absolute path as people see it: relative inside the workspace."""
        for root in (self._written[0], self.roots[0].path):
            found = below(root, path)
            if found is not None:
                return found
        return path

    def place(self, path: str) -> Spot:
        """Return the place that the text names, without a look at the disk.

        Raises:
            OutsideError: It lies in no root, or in a tree of the system.
        """
        if "\0" in path:
            raise OSError(errno.EINVAL, "a path holds no NUL")
        return self._containing(self.absolute(path))

    def _containing(self, path: str) -> Spot:
        """Return the place of a normalised absolute path in the first root that holds it."""
        for root, written in zip(self.roots, self._written, strict=True):
            found = below(written, path)
            found = below(root.path, path) if found is None else found
            if found is not None and (is_system(root.path) or not is_system(joined(root.path, found))):
                return Spot(root, found)
        raise OutsideError(errno.EACCES, "outside")

    def resolved(self, spot: Spot) -> Spot:
        """Return where the place leads when every link is followed.

        Raises:
            OutsideError: It leads out.
        """
        return self._containing(normalised(os.path.realpath(spot.absolute)))

    def open(self, spot: Spot, flags: int) -> int:
        """Return a descriptor of what the place leads to; links that stay inside are followed.

        Raises:
            OutsideError: A link leads out; nothing was opened.
        """
        try:
            return spot.root.open(spot.path, flags, links=spot.root.path != "/")
        except OSError as exc:
            if exc.errno not in (errno.EXDEV, errno.ELOOP, errno.ENOTDIR):
                raise
            real = self.resolved(spot)
            if real == spot:
                raise
            return real.root.open(real.path, flags, links=False)

    @contextlib.contextmanager
    def parent(self, spot: Spot, flags: int = DIRECTORY) -> Iterator[tuple[int, str]]:
        """Lend a descriptor of the directory that holds the place, and the last name.

        Raises:
            OSError: EBUSY for a root, which has no such directory.
        """
        if spot.path == ".":
            raise OSError(errno.EBUSY, "it is the root")
        directory, name = split_last(spot.path)
        fd = self.open(Spot(spot.root, directory), flags)
        try:
            yield fd, name
        finally:
            os.close(fd)

    def lstat(self, spot: Spot) -> os.stat_result:
        """Return what stands at the place itself, a link as a link."""
        if spot.path == ".":
            fd = spot.root.open(".", DIRECTORY)
            try:
                return os.fstat(fd)
            finally:
                os.close(fd)
        with self.parent(spot) as (fd, name):
            return os.stat(name, dir_fd=fd, follow_symlinks=False)

    def followed(self, spot: Spot) -> Spot:
        """Return the place that a link at the end of the path leads to, else the place itself."""
        try:
            is_link = stat.S_ISLNK(self.lstat(spot).st_mode)
        except FileNotFoundError:
            return spot
        return self.resolved(spot) if is_link else spot

    def stat(self, spot: Spot) -> os.stat_result:
        """Return what the place leads to, without opening it."""
        status = self.lstat(self.followed(spot))
        if stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return status

    # ------------------------------------------------------------ reading

    @contextlib.contextmanager
    def reading(self, spot: Spot) -> Iterator[tuple[int, os.stat_result]]:
        """Lend a descriptor of a regular file; anything else is refused unopened.

        Raises:
            NotRegularError: It is no regular file.
        """
        mode = self.stat(spot).st_mode
        if not stat.S_ISREG(mode):
            raise NotRegularError(mode)
        fd = self.open(spot, _READ)
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise NotRegularError(status.st_mode)
            yield fd, status
        finally:
            os.close(fd)

    def content(self, spot: Spot, max_bytes: int) -> bytes:
        """Return a regular file's bytes.

        Raises:
            TooLongError: It has more than `max_bytes`.
        """
        with self.reading(spot) as (fd, status):
            if status.st_size > max_bytes:
                raise TooLongError(status.st_size)
            found = b"".join(chunks(fd, max_bytes + 1))
            if len(found) > max_bytes:
                raise TooLongError(len(found))
            return found

    def version(self, spot: Spot) -> str:
        """Return the version of the regular file at the place."""
        with self.reading(spot) as (fd, status):
            digest = Digest(status)
            if digest.hashes:
                for chunk in chunks(fd, HASHED_MAX_BYTES + 1):
                    digest.add(chunk)
            return digest.version()

    # ------------------------------------------------------------ writing

    def make_parents(self, spot: Spot) -> None:
        """Make the directories that are missing above the place."""
        names = spot.path.split("/")[:-1]
        for end in range(1, len(names) + 1):
            directory = Spot(spot.root, "/".join(names[:end]))
            try:
                os.close(self.open(directory, DIRECTORY))
            except FileNotFoundError:
                with (
                    self.parent(self.followed(directory)) as (fd, name),
                    contextlib.suppress(FileExistsError),
                ):
                    os.mkdir(name, dir_fd=fd)

    def create(self, spot: Spot, content: Iterable[bytes], *, mode: int | None = None) -> None:
        """Make a new file with its missing parents in one step; a link in its place is not followed.

        Raises:
            FileExistsError: Something stands there, or appeared meanwhile.
        """
        self.make_parents(spot)
        with self.parent(spot, os.O_RDONLY | os.O_DIRECTORY) as (fd, name):
            _refuse_existing(fd, name)
            with _staged(fd, content, mode=mode) as temporary:
                rename_new(temporary, fd, name, fd)
            os.fsync(fd)

    def replace(self, spot: Spot, content: bytes, expect: str) -> None:
        """Replace a file in one step, its mode bits and owner kept.

        Raises:
            ChangedError: It has another version than `expect`.
        """
        before = self.lstat(spot)
        with self.parent(spot, os.O_RDONLY | os.O_DIRECTORY) as (fd, name):
            with _staged(fd, (content,), like=before) as temporary, _REPLACING:
                if self.version(spot) != expect:
                    raise ChangedError(errno.ESTALE, "changed")
                os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
            os.fsync(fd)

    def copy(self, source: Spot, target: Spot) -> None:
        """Copy a regular file to a new one with its permission bits."""
        with self.reading(source) as (fd, status):
            self.create(target, chunks(fd), mode=stat.S_IMODE(status.st_mode) & 0o777)

    def move(self, source: Spot, target: Spot) -> None:
        """Rename what stands at the source, a link as a link; never over something else."""
        status = self.lstat(source)
        with self.parent(source) as (from_fd, from_name):
            self.make_parents(target)
            try:
                with self.parent(target) as (to_fd, to_name):
                    _refuse_existing(to_fd, to_name)
                    rename_new(from_name, from_fd, to_name, to_fd)
            except OSError as exc:
                if exc.errno != errno.EXDEV:
                    raise
                if not stat.S_ISREG(status.st_mode):
                    raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP)) from None
                self.copy(source, target)  # the roots lie on two file systems
                os.unlink(from_name, dir_fd=from_fd)

    def remove(self, spot: Spot) -> None:
        """Remove a file, a link or an empty directory."""
        is_directory = stat.S_ISDIR(self.lstat(spot).st_mode)
        with self.parent(spot) as (fd, name):
            if is_directory:
                os.rmdir(name, dir_fd=fd)
            else:
                os.unlink(name, dir_fd=fd)


class Digest:
    """The version of a file while it is read: its hash, or for a large one its size, time and number."""

    def __init__(self, status: os.stat_result) -> None:
        self.hashes = status.st_size <= HASHED_MAX_BYTES
        self._status = status
        self._sum = hashlib.sha256()

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self.hashes:
            self._sum.update(chunk)

    def version(self) -> str:
        """Return the version of what was added."""
        if self.hashes:
            return f"sha256:{self._sum.hexdigest()}"
        status = self._status
        return f"stat:{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"


def version_of(content: bytes) -> str:
    """Return the version of a file with this content, which is not longer than `HASHED_MAX_BYTES`."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def chunks(fd: int, max_bytes: int | None = None) -> Iterator[bytes]:
    """Yield a file's bytes in stretches, at most `max_bytes` of them."""
    left = max_bytes
    while left is None or left > 0:
        chunk = os.read(fd, _CHUNK_BYTES if left is None else min(left, _CHUNK_BYTES))
        if not chunk:
            return
        left = None if left is None else left - len(chunk)
        yield chunk


def _refuse_existing(fd: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.stat(name, dir_fd=fd, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


@contextlib.contextmanager
def _staged(
    fd: int, content: Iterable[bytes], *, mode: int | None = None, like: os.stat_result | None = None
) -> Iterator[str]:
    """Write the content to a file beside its place, safe on the disk; it is removed unless it was renamed."""
    name = f".hilt-{secrets.token_hex(8)}.tmp"
    out = os.open(name, _NEW_FILE, 0o666, dir_fd=fd)
    try:
        try:
            for chunk in content:
                rest = memoryview(chunk)
                while rest:
                    rest = rest[os.write(out, rest) :]
            if like is not None:
                with contextlib.suppress(PermissionError):
                    os.fchown(out, like.st_uid, like.st_gid)
                mode = stat.S_IMODE(like.st_mode)
            if mode is not None:
                os.fchmod(out, mode)
            os.fsync(out)
        finally:
            os.close(out)
        yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=fd)
