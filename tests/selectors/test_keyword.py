import pytest
from tests.selectors.test_lexical import MULTILINGUAL, ids

from toolpick_selectors.contract import Parameter, SelectionContext, SelectionError, Tool
from toolpick_selectors.keyword import Keyword
from toolpick_selectors.registry import build
from toolpick_selectors.testing import check_selector

TOOLS = (
    Tool("read", "read_file", "files", "", "Returns the text of a file.", (Parameter("path"),)),
    Tool("edit", "edit_file", "files", "", "Replaces lines of text."),
    Tool("find", "search_files", "files", "", "Lists paths by a pattern."),
    Tool("mail", "send_email", "mail", "", "Delivers a letter to a recipient."),
    Tool("time", "current_time", "clock", "", "Says how late it is."),
)


def ask(query, tools=TOOLS, limit=5, **options):
    return Keyword(**options).select(SelectionContext("t", query, (), limit), tools)


def test_the_contract_holds():
    check_selector(Keyword)
    check_selector(lambda: Keyword(core=["send_email"], synonyms=[("telegram", "email")]))


def test_tools_that_share_more_words_come_first():
    assert ids(ask("replaces lines of text in a file")) == ["edit", "read"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("open the path", "read"),
        ("please look up the pattern", "find"),
        ("fix the lines", "edit"),
        ("send an EMAIL", "mail"),
    ],
)
def test_what_people_say_finds_what_tools_are_called(query, wanted):
    assert ids(ask(query))[0] == wanted


@pytest.mark.parametrize("query", ["look upon the mountains", "outlook upset", "lookup"])
def test_a_phrase_counts_as_whole_words_only(query):
    assert "find" not in ids(ask(query))


def test_synonyms_work_in_both_directions_and_only_for_the_query():
    pairs = [("letterbox", "email")]
    assert ids(ask("letterbox", synonyms=pairs, curated=False)) == ["mail"]
    boxed = (Tool("box", "letterbox", "", "", ""), Tool("other", "thing", "", "", ""))
    assert ids(ask("email", boxed, synonyms=pairs, curated=False)) == ["box"]
    assert ids(ask("email", boxed, curated=False)) == []


def test_words_of_fewer_than_three_letters_and_stop_words_never_match():
    tools = (Tool("a", "go", "", "", "is of the"),)
    assert ids(ask("go is of the", tools)) == []


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (["look up", "search"], "'look up' is not one word"),
        (["up", "search"], "'up' is left out of every query"),
        (["xy", "search"], "'xy' has fewer than 3 letters"),
        (["", "search"], "'' is not one word"),
        ([1, "search"], "1 is not one word"),
        (["search"], "is not a pair of words"),
        ("ab", "'ab' is not a pair of words"),
    ],
)
def test_a_synonym_that_could_never_match_is_refused(pair, message):
    with pytest.raises(
        SelectionError, match="selector 'keyword' can't be built: synonyms: "
    ) as caught:
        build("keyword", {"synonyms": [pair]})
    assert message in str(caught.value)


def test_core_tools_join_every_selection_that_is_not_empty():
    assert ids(ask("send email", core=["clock/*"])) == ["mail", "time"]
    assert ids(ask("send email or edit lines of text", limit=2, core=["time"]))[-1] == "time"
    assert ids(ask("current time", core=["time"])) == ["time"]
    assert ids(ask("zebra", core=["time"])) == []


def test_every_core_tool_has_its_place_however_the_others_rank():
    query = "replaces lines of text in a file, and lists paths by a pattern"
    assert ids(ask(query, limit=3)) == ["edit", "find", "read"]
    assert ids(ask(query, limit=3, core=["read", "time"])) == ["edit", "read", "time"]


def test_no_match_picks_nothing_and_says_so():
    selection = ask("zebra")
    assert selection.picks == ()
    assert selection.degraded == "no tool shares a word with the query"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("addPerson", "addPerson"),
        ("table record", "appTableRecordSearch"),
        ("天气", "查询天气"),
        ("Rechnungen", "rechnung_suchen"),
        ("please find me a way to send an email to my boss about the delay", "send_email"),
    ],
)
def test_every_script_and_spelling_is_matched(query, wanted):
    assert ids(ask(query, MULTILINGUAL))[0] == wanted
