import pytest
from tests.selectors.test_lexical import MULTILINGUAL, ids
from tests.selectors.test_vectors import Counting

from toolpick_selectors.contract import SelectionContext, SelectionError, Tool
from toolpick_selectors.registry import Parts, build
from toolpick_selectors.testing import check_selector

TOOLS = (
    Tool("mail", "send_message", "gmail", "", "Delivers a message to a recipient."),
    Tool("rain", "forecast", "weather", "", "Predicts rain, wind and temperature."),
    Tool("file", "read_file", "filesystem", "", "Returns the contents of a file."),
    Tool("pay", "create_invoice", "billing", "", "Makes an invoice for a customer."),
)


def ask(kind, query, tools=TOOLS, limit=5, **options):
    return build(kind, options).select(SelectionContext("t", query, (), limit), tools)


@pytest.mark.parametrize("kind", ["hybrid", "embedding"])
def test_the_contract_holds(kind):
    check_selector(lambda: build(kind))


@pytest.mark.parametrize("kind", ["hybrid", "embedding"])
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("do I need an umbrella tomorrow?", "rain"),
        ("write an email to Anna", "mail"),
        ("show me the text of the document", "file"),
        ("bill the client", "pay"),
    ],
)
def test_prompts_find_tools_that_share_no_word_with_them(kind, query, wanted):
    assert ids(ask(kind, query))[0] == wanted


@pytest.mark.parametrize("kind", ["hybrid", "embedding", "lexical", "keyword"])
def test_an_exact_name_comes_first(kind):
    assert ids(ask(kind, "addPerson", MULTILINGUAL))[0] == "addPerson"


@pytest.mark.parametrize("kind", ["hybrid", "embedding"])
@pytest.mark.parametrize("query", ["", "!!! ???", "qqqq zzzz"])
def test_nothing_to_go_by_picks_nothing_and_says_so(kind, query):
    selection = ask(kind, query)
    assert (selection.picks, bool(selection.degraded)) == ((), True)


def test_the_parts_of_a_score_are_told():
    best = ask("hybrid", "predict the rain").picks[0]
    assert best.id == "rain"
    assert dict(best.parts) == {"words": 1.0, "meaning": 1.0}


def test_no_tools_need_no_ranking():
    selection = ask("hybrid", "x", ())
    assert (selection.picks, selection.degraded) == ((), "")


def test_an_unknown_embedder_is_a_clear_error():
    with pytest.raises(SelectionError, match="no embedder 'bundle'; did you mean 'bundled'"):
        build("hybrid", {"embedder": "bundle"})
    with pytest.raises(SelectionError, match="'hybrid' can't be built: the weight of words"):
        build("hybrid", {"words": 2.0})


def test_a_table_elsewhere_can_be_named(tmp_path):
    parts = Parts(options={"bundled": {"folder": str(tmp_path)}})
    selection = build("hybrid", {}, parts).select(SelectionContext("t", "rain", (), 5), TOOLS)
    assert ids(selection) == ["rain"]
    assert "can't be read" in selection.degraded


async def test_a_slow_embedder_is_awaited_and_its_vectors_are_kept_in_the_hosts_folder(
    tmp_path, monkeypatch
):
    slow = Counting(quick=False)
    monkeypatch.setattr("toolpick_selectors.embedding.build_embedder", lambda name, parts: slow)
    tools = (Tool("m", "x", "", "", "mail"), Tool("r", "x", "", "", "rain"))
    for times in (1, 1):
        selector = build("hybrid", {"embedder": "slow"}, Parts(folder=tmp_path))
        assert selector.index(tools) == 0
        selection = await selector.select(SelectionContext("t", "rain", (), 5), tools)
        assert (ids(selection), selection.degraded) == (["r"], "")
        assert len(slow.asked) == 2 * times
    assert (tmp_path / "vectors.sqlite").exists()
