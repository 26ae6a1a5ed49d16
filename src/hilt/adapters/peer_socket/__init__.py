"""Agents that are reached by UNIX sockets and TCP: one connection a frame, each frame behind its length."""

from hilt.adapters.peer_socket.door import SocketDoor
from hilt.adapters.peer_socket.link import SocketLink

__all__ = ["SocketDoor", "SocketLink"]
