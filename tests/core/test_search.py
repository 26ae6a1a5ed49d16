"""Tools are ranked by the words of a query: exact names first, then by what the words say."""

import random
from collections.abc import Iterable

import pytest
from snowballstemmer.english_stemmer import EnglishStemmer

from bench.search_sets import SETS, load_queries, load_tools
from hilt.core.search import Likeness, SearchDocument, SearchIndex
from hilt.core.search_query import SearchQuery, parse_query
from hilt.core.search_text import Stems, folded, opening, parameter_text, words


def tool(
    own_name: str, description: str = "", *, server: str = "s", names: str = "", texts: str = ""
) -> SearchDocument:
    key = f"mcp__{server}__{own_name}"
    return SearchDocument(
        key=key,
        names=(key, own_name),
        own_name=own_name,
        server=server,
        description=description,
        parameters=(names, texts),
    )


def find(documents: Iterable[SearchDocument], query: str, limit: int = 10) -> list[str]:
    found = SearchIndex(documents).find(parse_query(query), limit=limit)
    return [key.rpartition("__")[2] for key in found]


@pytest.mark.req("SRC-21")
@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("getHTTPFile", ["get", "http", "file"]),
        ("snake_case-kebab.dot/slash", ["snake", "case", "kebab", "dot", "slash"]),
        ("report2024Q1", ["report", "2024", "q1"]),
        ("搜索文件", ["搜索", "索文", "文件"]),
        ("ファイル を", ["ファ", "ァイ", "イル", "を"]),
        ("Überprüfung café", ["überprüfung", "café"]),
        ("GmailのSend", ["gmail", "の", "send"]),
        ("!!! …", []),
    ],
)
def test_text_is_split_at_case_changes_digits_and_signs_and_unspaced_text_into_pairs(
    text: str, split: list[str]
) -> None:
    assert words(text) == split


@pytest.mark.req("SRC-21")
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("REPOSITORIES", "createRepository"),
        ("listing issue", "list_issues"),
        ("文件搜索", "文件搜索工具"),
        ("http", "getHTTPHeaders"),
    ],
)
def test_case_endings_and_the_form_of_a_name_do_not_matter(query: str, name: str) -> None:
    documents = [tool(name), tool("weather_today", "Tells the weather."), tool("play_song", "Plays music.")]
    assert find(documents, query)[0] == name


@pytest.mark.req("SRC-22")
@pytest.mark.parametrize("query", ["invoice", "invoice ledger"])
def test_a_word_in_the_name_outranks_one_in_the_description_and_that_one_in_a_parameter(query: str) -> None:
    long_name = "_".join([*query.split(), *(f"part{n}" for n in range(12))])
    documents = [
        tool("alpha", "Gives something.", names=query, texts=f"{query}. The {query}"),
        tool("beta", f"{query}.", names="id", texts="what"),
        tool("gamma", f"{query} {query} {query}", names=query, texts=query, server=query.replace(" ", "")),
        tool(long_name, "Long and about other things. " * 40),
        tool("delta", f"{'Speaks of many other matters at length. ' * 40} {query}"),
    ]
    found = find(documents, query)
    assert found[0] == long_name
    assert found[-1] == "alpha"
    assert set(found) == {"alpha", "beta", "gamma", "delta", long_name}


@pytest.mark.req("SRC-22")
def test_a_description_that_repeats_a_word_a_thousand_times_gains_nothing_over_three() -> None:
    thrice = tool("a_tool", "invoice invoice invoice")
    often = tool("b_tool", "invoice " * 1000)
    assert find([often, thrice], "invoice") == ["a_tool", "b_tool"]
    assert find([tool("b_tool", "invoice " * 3), tool("a_tool", "invoice " * 1000)], "invoice")[0] == "b_tool"


@pytest.mark.req("SRC-23")
@pytest.mark.parametrize("query", ["calendxr", "calndar", "claendar", "calendaar", "kalendar", "calenda", "calendar"])
def test_a_long_word_with_one_mistake_still_finds_its_tool(query: str) -> None:
    documents = [tool("create_calendar"), tool("colander_wash"), tool("play_song")]
    assert find(documents, query)[0] == "create_calendar"


@pytest.mark.req("SRC-23")
def test_a_word_that_a_tool_holds_is_not_taken_for_a_mistake_and_a_short_one_never_is() -> None:
    documents = [tool("calendar_add"), tool("calender_finish"), tool("song")]
    assert find(documents, "calender") == ["calender_finish"]
    assert find(documents, "sogn") == []
    assert find(documents, "calen" + "x" * 60) == []


@pytest.mark.req("SRC-19")
@pytest.mark.parametrize("query", ["send mail", "SendMail", "send-mail", "SEND_MAIL", "sendmail"])
def test_a_query_that_is_a_name_has_its_tools_first_together(query: str) -> None:
    documents = [
        tool("send_mail_now", "Send mail, send mail."),
        tool("send_mail", "Nothing.", server="b"),
        tool("mail", "send mail mail send"),
        tool("sendMail", "Nothing.", server="a"),
    ]
    found = SearchIndex(documents).find(parse_query(query), limit=10)
    assert found[:2] == ["mcp__a__sendMail", "mcp__b__send_mail"]
    assert SearchIndex(documents).called(query) == found[:2]


@pytest.mark.req("SRC-19")
def test_the_catalog_name_is_a_name_too() -> None:
    documents = [tool("read", server="git"), tool("git_read", "mcp git read", server="mcp")]
    assert find(documents, "mcp git read")[0] == "read"


@pytest.mark.req("SRC-20")
def test_a_required_word_keeps_only_tools_that_hold_it_anywhere() -> None:
    documents = [
        tool("mail_invoice"),
        tool("mail_two", "Sends an invoice."),
        tool("mail_three", names="invoiceNumber"),
        tool("mail_four", texts="the number of the invoices"),
        tool("mail_five", server="invoice"),
        tool("mail_six", "Mail mail mail."),
    ]
    assert set(find(documents, "mail +invoice")) == {document.own_name for document in documents[:5]}
    assert set(find(documents, "mail +invoiceNumber")) == {"mail_three", "mail_four"}
    assert find(documents, "+the")[0] == "mail_four"
    assert find(documents, "mail +nowhere") == []


@pytest.mark.req("SRC-20")
def test_a_server_in_the_query_is_the_same_as_the_argument() -> None:
    documents = [tool("read", server="git"), tool("read_file", server="files"), tool("write", server="files")]
    assert find(documents, "read server:files") == ["read_file"]
    assert parse_query("read server:Files") == parse_query("read", server="Files")
    assert find(documents, "server:FILES read") == ["read_file"]
    assert find(documents, "read server:other") == []
    assert parse_query("a +b ++c + server:") == SearchQuery(text="a b c + server:", required=("b", "c"))


@pytest.mark.req("SRC-24")
def test_the_order_is_the_same_however_the_tools_came_and_equals_go_by_name() -> None:
    documents = [tool(f"tool_{n % 7}_{n}", f"Sends mail number {n % 5} to server {n % 3}") for n in range(300)]
    first = find(documents, "send mail to 3 servers", 50)
    shuffled = list(documents)
    random.Random(1).shuffle(shuffled)
    assert find(shuffled, "send mail to 3 servers", 50) == first
    equal = [tool(name, "Sends mail.") for name in ("zeta", "alpha", "mid")]
    assert find(equal, "mail") == ["alpha", "mid", "zeta"]


@pytest.mark.req("SRC-32")
def test_a_tool_that_is_added_is_found_at_once() -> None:
    index = SearchIndex(tool(f"tool_{n}", "Does things.") for n in range(100))
    assert index.find(parse_query("zebra"), limit=5) == []
    index.add(tool("zebra_count", "Counts."))
    assert index.find(parse_query("zebra"), limit=5) == ["mcp__s__zebra_count"]
    assert len(index) == 101


def test_what_is_not_admitted_is_left_out_and_others_take_its_place() -> None:
    documents = [tool(f"mail_{n:03}", "Sends mail.") for n in range(400)]
    found = SearchIndex(documents).find(parse_query("send mail"), limit=3, admits=lambda key: int(key[-3:]) >= 390)
    assert found == [f"mcp__s__mail_{n}" for n in (390, 391, 392)]
    hidden = SearchIndex(documents).find(parse_query("mail_001"), limit=3, admits=lambda key: not key.endswith("001"))
    assert "mcp__s__mail_001" not in hidden


@pytest.mark.req("SRC-31", "SRC-24")
@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "+",
        "++",
        "server:",
        "select",
        "a" * 5000,
        "the of to",
        "\x00\ud800",
        '"(*)"',
        "+" * 1000,
        "NEAR/2 OR -",
    ],
)
def test_no_query_makes_a_search_fail(query: str) -> None:
    documents = [tool("the_of", "to"), tool("read", "Reads."), tool("___", "?")]
    assert isinstance(find(documents, query), list)


def test_a_query_of_function_words_alone_is_still_searched() -> None:
    assert find([tool("get_all", "x"), tool("read", "y")], "get") == ["get_all", "read"]


@pytest.mark.req("SRC-31")
def test_a_query_is_cut_at_a_thousand_characters() -> None:
    assert len(parse_query("x" * 5000).text) == 1000


@pytest.mark.req("SRC-33")
def test_an_embedders_ranking_is_fused_with_that_of_the_words_and_exact_names_stay_first() -> None:
    documents = [tool("play_song", "Music."), tool("send_mail", "Letters."), tool("count", "Numbers.")]
    index = SearchIndex(documents)
    near = Likeness([0.1, 0.2, 0.9], 0.6)
    assert index.find(parse_query("dispatch"), limit=1, likeness=near) == ["mcp__s__count"]
    assert index.find(parse_query("send mail"), limit=3, likeness=near)[0] == "mcp__s__send_mail"
    only = index.find(parse_query("dispatch"), limit=3, admits=lambda key: "count" not in key, likeness=near)
    assert "mcp__s__count" not in only
    assert index.find(parse_query("mail server:other"), limit=3, likeness=near) == []
    flat = Likeness([0.5, 0.5, 0.5], 0.6)
    assert index.find(parse_query("letters"), limit=1, likeness=flat) == ["mcp__s__send_mail"]
    assert index.find(parse_query("letters"), limit=1, likeness=Likeness([0.5], 0.6)) == ["mcp__s__send_mail"]
    assert SearchIndex().find(parse_query("letters"), limit=1, likeness=Likeness([], 0.6)) == []


def test_parameters_are_read_with_nested_ones_and_enumerations_from_any_schema() -> None:
    schema: dict[str, object] = {
        "properties": {
            "to": {"description": "Who", "enum": ["a", 1], "items": {"properties": {"deep": {"type": "string"}}}},
            "odd": True,
            "none": {"description": 3, "properties": []},
        }
    }
    assert parameter_text(schema) == ("to deep odd none", "Who a 1")
    assert parameter_text({}) == ("", "")


def test_every_word_of_the_sets_has_the_stem_that_snowball_gives_it() -> None:
    stemmer, stems = EnglishStemmer(), Stems()
    said = (text for name in SETS for item in load_tools(name) for text in (item.name, item.description))
    asked = (query.text for name in SETS for query in load_queries(name))
    vocabulary = {word for text in (*said, *asked, "psychologist ogist") for word in words(text)}
    assert len(vocabulary) > 4_000
    assert {word for word in vocabulary if stems.stem(word) != stemmer.stemWord(word)} == set()


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Opens a file. Then more.", "Opens a file."),
        ("Is v1.2 there? Yes", "Is v1.2 there?"),
        ("\n  One line\nand another", "One line"),
        ("搜索文件。返回列表。", "搜索文件。"),
        ("no end", "no end"),
        (" ", ""),
    ],
)
def test_an_opening_is_the_first_sentence_or_the_first_line(text: str, first: str) -> None:
    assert opening(text) == first


def test_names_fold_to_the_same_without_case_and_signs_and_long_words_are_left_as_they_are() -> None:
    assert folded("Get_HTTP-File.v2/x") == folded("getHttpFile v2x")
    assert Stems().of("s" * 65) == ["s" * 65]
