"""The page about the architecture shows the package as it is."""

from tests.architecture.tree import PAGE, block, drawn


def test_the_page_shows_every_file_with_what_it_says_about_itself() -> None:
    assert drawn(PAGE.read_text(encoding="utf-8")) == block(), "run `make format`, which draws the tree again"
