"""A peer that takes a frame and never answers: `peer_holder.py unix:PATH|tcp:HOST:PORT`; says `ready`, then `taken`."""

import socket
import sys
import time

from hilt.core.peer import UnixAddress, parse_address


def main(text: str) -> None:
    address = parse_address(text)
    if isinstance(address, UnixAddress):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address.path)
        listener.listen()
    else:
        host, _, port = text.removeprefix("tcp:").rpartition(":")
        listener = socket.create_server((host, int(port)))
    print("ready", flush=True)
    connection, _ = listener.accept()
    connection.recv(4, socket.MSG_WAITALL)
    print("taken", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1])
