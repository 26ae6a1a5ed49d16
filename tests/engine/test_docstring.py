"""What a docstring says of a tool and of its parameters."""

import pytest

from hilt.engine.docstring import Docstring, read_docstring


@pytest.mark.parametrize(
    ("doc", "read"),
    [
        (None, Docstring("")),
        ("Just this.", Docstring("Just this.")),
        (
            """Do it.

            Args:
                first (int): one
                    and more

                    and still more
                second : two
                a line that explains nothing
            Returns:
                something
            """,
            Docstring(
                "Do it.\n\nReturns:\n    something",
                {"first": "one and more and still more", "second": "two a line that explains nothing"},
            ),
        ),
        ("\nArguments:\n    no entry\n    a: b", Docstring("", {"a": "b"})),
    ],
)
@pytest.mark.req("CAT-82", "CAT-83")
def test_a_docstring_is_cut_into_description_and_parameters(doc: str | None, read: Docstring) -> None:
    assert read_docstring(doc) == read
