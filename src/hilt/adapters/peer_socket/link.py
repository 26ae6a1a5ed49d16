"""Dials a peer, hands over one frame and waits for its answer."""

import anyio
from anyio.abc import SocketStream, UNIXSocketStream

from hilt.adapters.peer_socket.frames import FrameTooLargeError, read_frame, write_frame
from hilt.core.envelope import ANSWER_FRAME_MAX_BYTES
from hilt.core.peer import InProcess, Peer, TcpAddress, UnixAddress
from hilt.ports.peer import PeerLostError, PeerUnreachableError


class SocketLink:
    """Reaches peers by UNIX socket and TCP; see `PeerLink`."""

    async def exchange(self, peer: Peer, frame: bytes) -> bytes:
        """See `PeerLink.exchange`."""
        async with await _dialed(peer) as stream:
            try:
                await write_frame(stream, frame)
                return await read_frame(stream, most=ANSWER_FRAME_MAX_BYTES)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.IncompleteRead, anyio.EndOfStream):
                raise PeerLostError("the connection ended") from None
            except FrameTooLargeError as exc:
                raise PeerLostError(str(exc)) from None


async def _dialed(peer: Peer) -> SocketStream | UNIXSocketStream:
    try:
        match peer.address:
            case UnixAddress(path=path):
                return await anyio.connect_unix(path)
            case TcpAddress(host=host, port=port):
                return await anyio.connect_tcp(host, port)
            case InProcess():
                raise PeerUnreachableError("no address is configured")
    except OSError as exc:
        raise PeerUnreachableError(exc.strerror or "the address cannot be dialed") from None
