"""The part that a session has in the inbox: nothing before it begins, letters from then until it is closed."""

from hilt.core.session import UserMessage
from hilt.engine.conversation import Conversation
from hilt.engine.inbox import Inbox
from hilt.engine.mail import SessionMail
from hilt.engine.retained import Retained
from tests.engine.peer_kit import Pair


async def test_a_session_that_never_began_takes_no_letter_and_can_be_closed() -> None:
    pair = Pair()
    inbox = pair.inbox()

    async def opened() -> Inbox:
        return inbox

    mail = SessionMail("one", opened, Retained().keep)
    conversation = Conversation()
    mail.bind(conversation)
    inbox.receive(pair.frame())
    conversation.take_notices()
    mail.close()
    assert conversation.messages == []
    await mail.begin()
    conversation.notices.append("A job has ended.")
    conversation.take_notices()
    (message,) = conversation.messages
    assert isinstance(message, UserMessage)
    assert message.notice
    assert message.text.startswith("A job has ended.\n\n1 message of other agents arrived.")
    conversation.take_notices()
    assert len(conversation.messages) == 1
