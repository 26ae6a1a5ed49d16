"""The key of an agent: signatures, and the file that keeps it."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from hilt.adapters.peer_ed25519 import PeerKey
from hilt.core.errors import ConfigError
from hilt.core.peer import key_of

BEGIN = b"-----BEGIN %s KEY-----" % b"PRIVATE"
MAKES_A_KEY = "import sys; from hilt.adapters.peer_ed25519 import PeerKey; print(PeerKey.kept(sys.argv[1]).id)"


@pytest.mark.req("BLT-86")
def test_a_signature_is_the_holders_for_that_message_alone() -> None:
    ann, bob = PeerKey.new(), PeerKey.new()
    signature = ann.sign(b"message")
    assert len(signature) == 64
    assert bob.verify(key_of(ann.id), b"message", signature)
    assert not bob.verify(key_of(bob.id), b"message", signature)
    assert not bob.verify(key_of(ann.id), b"another", signature)
    assert not bob.verify(key_of(ann.id), b"message", signature[:-1] + bytes([signature[-1] ^ 1]))
    assert not bob.verify(b"short", b"message", signature)
    assert not bob.verify(key_of(ann.id), b"message", b"")
    assert repr(ann) == f"PeerKey({ann.id!r})"


def test_a_key_is_made_once_for_its_owner_alone_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "state" / "comms" / "agent.key"
    first = PeerKey.kept(path)
    assert PeerKey.kept(path).id == first.id != PeerKey.new().id
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [one.name for one in path.parent.iterdir()] == ["agent.key"]
    assert path.read_bytes().startswith(BEGIN)


def test_processes_that_make_a_key_at_the_same_time_all_have_the_same(tmp_path: Path) -> None:
    path = tmp_path / "agent.key"
    started = [
        subprocess.Popen([sys.executable, "-c", MAKES_A_KEY, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    ids = {one.communicate(timeout=40)[0].strip() for one in started}
    assert ids == {PeerKey.kept(path).id}
    assert [one.name for one in tmp_path.iterdir()] == ["agent.key"]


def test_a_key_that_others_may_read_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "agent.key"
    PeerKey.kept(path)
    path.chmod(0o640)
    with pytest.raises(ConfigError, match=r"^agent\.key: others may read the agent's key; run `chmod 600` on it$"):
        PeerKey.kept(path)


def _pem(private: Ed25519PrivateKey | X25519PrivateKey, *, secret: bytes = b"") -> bytes:
    encryption = BestAvailableEncryption(secret) if secret else NoEncryption()
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"damaged",
        BEGIN + b"\nAAAA\n-----END PRIVATE KEY-----\n",
        _pem(X25519PrivateKey.generate()),
        _pem(Ed25519PrivateKey.generate(), secret=b"pass"),
        b"x" * 10_000,
    ],
    ids=["empty", "damaged", "short", "another kind", "encrypted", "long"],
)
def test_a_file_without_a_key_is_told_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "agent.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match=r"^the key: it holds no Ed25519 key .* mend it, or move it away"):
        PeerKey.kept(path, shown="the key")
    assert path.read_bytes() == content


def test_a_key_made_by_another_program_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "agent.key"
    private = Ed25519PrivateKey.generate()
    path.write_bytes(_pem(private))
    path.chmod(0o600)
    assert key_of(PeerKey.kept(path).id) == private.public_key().public_bytes_raw()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "no folder"])
def test_a_key_is_kept_in_a_plain_file_or_not_at_all(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "agent.key"
    match kind:
        case "link":
            PeerKey.kept(tmp_path / "other")
            path.symlink_to(tmp_path / "other")
        case "pipe":
            os.mkfifo(path, 0o600)
        case "folder":
            path.mkdir(mode=0o700)
        case _:
            (tmp_path / "file").touch()
            path = tmp_path / "file" / "agent.key"
    with pytest.raises(ConfigError, match=r"^agent\.key: "):
        PeerKey.kept(path)
