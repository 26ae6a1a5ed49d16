"""One message that came in and the way back to its sender, alike on every transport."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NoReturn

from hilt.faults.log import Log
from hilt.faults.protocol import Era, Json, Transport, encode, era_of, mapping


class EndedError(Exception):
    """Nothing more is to be done for this message: its sender left, or it was cut off on purpose."""


class Exchange(ABC):
    """A received message; `nth` counts from 1 how many messages of its method came before it, itself included."""

    transport: Transport

    def __init__(self, message: Mapping[str, object], *, nth: int, log: Log) -> None:
        self.message = message
        self.nth = nth
        self.log = log

    @property
    def id(self) -> object:
        """The request's id; `None` for a notification."""
        return self.message.get("id")

    @property
    def method(self) -> str:
        """The method; empty for an answer to one of our requests."""
        return str(self.message.get("method", ""))

    @property
    def params(self) -> Mapping[str, object]:
        """The parameters; empty where there are none."""
        return mapping(self.message.get("params"))

    @property
    def era(self) -> Era:
        """The era that the message is written in."""
        return era_of(self.message)

    def answer(self, message: Json) -> None:
        """Send the answer, after which nothing follows."""
        self.answer_text(encode(message))

    def send(self, message: Json) -> None:
        """Send a message before the answer."""
        self.send_text(encode(message))

    @abstractmethod
    def answer_text(self, text: bytes) -> None:
        """Send exactly these bytes as the answer."""

    @abstractmethod
    def send_text(self, text: bytes) -> None:
        """Send exactly these bytes as a message before the answer."""

    @abstractmethod
    def blank(self) -> None:
        """Send what means nothing: a comment, or a blank line."""

    @abstractmethod
    def accept(self) -> None:
        """Say that the message has arrived, where the transport has a word for that."""

    @abstractmethod
    def pause(self, seconds: float) -> None:
        """Wait.

        Raises:
            EndedError: The sender left meanwhile.
        """

    @abstractmethod
    def hang(self) -> NoReturn:
        """Wait until the sender leaves.

        Raises:
            EndedError: Always.
        """

    @abstractmethod
    def cut(self) -> NoReturn:
        """Break the connection that the answer would take, by a reset or an exit.

        Raises:
            EndedError: Always, where the process goes on.
        """

    @abstractmethod
    def end(self) -> None:
        """End the stream that the answer would take, as if nothing were missing."""
