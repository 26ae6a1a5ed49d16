"""The key pair of an agent: Ed25519, kept in a file that its owner alone can read."""

import os
import stat
import tempfile
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from hilt.core.errors import ConfigError
from hilt.core.peer import PeerId, peer_id

KEY_MAX_BYTES: Final = 4096


class PeerKey:
    """The key pair of one agent; its text shows the id alone. See `PeerKeys`."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self._id = peer_id(private.public_key().public_bytes_raw())

    @classmethod
    def new(cls) -> "PeerKey":
        """Return a key pair that nobody had before, in memory alone."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def kept(cls, path: str | os.PathLike[str], *, shown: str = "") -> "PeerKey":
        """Return the key pair of a file, which is made where it is not there; messages name it `shown`.

        Raises:
            ConfigError: It cannot be read or made, others may read it, or it holds no such key.
        """
        file = Path(path)
        source = shown or file.name
        try:
            content = _read(file, source)
            if content is None:
                _make(file)
                content = _read(file, source) or b""
        except OSError as exc:
            raise ConfigError(f"the agent's key cannot be kept there: {exc.strerror}", source=source) from exc
        try:
            private = load_pem_private_key(content, password=None)
        except (ValueError, TypeError):
            private = None
        if not isinstance(private, Ed25519PrivateKey):
            raise ConfigError(
                "it holds no Ed25519 key (PEM, PKCS #8, not encrypted); mend it, or move it away for a new one",
                source=source,
            )
        return cls(private)

    @property
    def id(self) -> PeerId:
        """See `PeerKeys.id`."""
        return self._id

    def sign(self, message: bytes) -> bytes:
        """See `PeerKeys.sign`."""
        return self._private.sign(message)

    def verify(self, key: bytes, message: bytes, signature: bytes) -> bool:
        """See `PeerKeys.verify`."""
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    def __repr__(self) -> str:
        return f"PeerKey({self._id!r})"


def _read(file: Path, shown: str) -> bytes | None:
    """Return what is in the file, None where there is none; a link is not followed."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as opened:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise ConfigError("the agent's key is kept in a file, and this is none", source=shown)
        if state.st_mode & 0o077:
            raise ConfigError("others may read the agent's key; run `chmod 600` on it", source=shown)
        return opened.read(KEY_MAX_BYTES)


def _make(file: Path) -> None:
    """Make the file with a new key in one step; where another process was faster, its key stays."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(pem)
            opened.flush()
            os.fsync(descriptor)
        try:
            file.hardlink_to(temporary)
        except FileExistsError:
            return
    finally:
        temporary.unlink(missing_ok=True)
