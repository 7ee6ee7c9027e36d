import pytest

from toolpick_selectors.contract import Parameter, SelectionContext, Tool
from toolpick_selectors.lexical import Lexical
from toolpick_selectors.testing import check_selector

MULTILINGUAL = tuple(
    Tool(name, name, "", "", description)
    for name, description in (
        ("appTableRecordSearch", "Query rows of a bitable."),
        ("addPerson", "Create a contact in the CRM."),
        ("addActivity", "Create an activity in the CRM."),
        ("canvas_create_edge", "Connect two shapes."),
        ("XMLParser", "Turn markup into a tree."),
        ("get-panel-image", "Render a chart as a picture."),
        ("listS3Buckets", "Enumerate object stores."),
        ("send_email", "Deliver a message to a recipient by mail."),
        ("delete_email", "Remove a message from the mailbox for ever."),
        ("kalender_eintrag", "Legt einen Termin im Kalender an."),
        ("rechnung_suchen", "Findet Rechnungen eines Kunden nach Datum."),
        ("查询天气", "查询某个城市的天气预报。"),
        ("予定追加", "カレンダーに予定を追加する。"),
        ("poisk_zakaza", "Поиск заказа по номеру."),
    )
)


def ask(query, tools=MULTILINGUAL, limit=5, selector=None):
    return (selector or Lexical()).select(SelectionContext("turn", query, (), limit), tools)


def ids(selection):
    return [pick.id for pick in selection.picks]


def test_the_contract_holds():
    check_selector(Lexical)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("addPerson", "addPerson"),
        ("add person", "addPerson"),
        ("table record", "appTableRecordSearch"),
        ("xml parser", "XMLParser"),
        ("s3 buckets", "listS3Buckets"),
        ("please find me a way to send an email to my boss about the delay", "send_email"),
        ("天气", "查询天气"),
        ("予定を追加したい", "予定追加"),
        ("Termin anlegen", "kalender_eintrag"),
        ("номер заказа", "poisk_zakaza"),
    ],
)
def test_names_are_found_in_every_script_and_spelling(query, wanted):
    assert ids(ask(query))[0] == wanted


def test_an_exact_name_inside_a_sentence_comes_first():
    assert (
        ids(ask("create a contact and activity in the CRM, then run delete_email"))[0]
        == "delete_email"
    )


def test_a_name_that_is_one_common_word_is_not_taken_for_a_call():
    tools = (
        Tool("a", "search", "", "", "Looks things up."),
        Tool("b", "book", "", "", "Search flights and book seats."),
    )
    assert ids(ask("search for flights and book seats", tools))[0] == "b"
    assert ids(ask("search", tools))[0] == "a"


@pytest.mark.parametrize("query", ["", "!!! ???", "qqqq zzzz"])
def test_a_query_that_matches_nothing_gives_no_picks_and_says_why(query):
    selection = ask(query)
    assert selection.picks == ()
    assert selection.degraded == selection.reason != ""


def test_equal_tools_come_in_order_of_their_ids():
    tools = [Tool(id, "copy", "", "", "Copies a file.") for id in ("c", "a", "b")]
    assert ids(ask("copy file", tools)) == ["a", "b", "c"]


def test_a_tool_whose_text_changed_under_the_same_id_is_read_again():
    selector = Lexical()
    before = (Tool("x", "one", "", "", "paints walls"), Tool("y", "two", "", "", "reads mail"))
    after = (Tool("x", "one", "", "", "reads mail"), Tool("y", "two", "", "", "paints walls"))
    assert ids(ask("paint", before, selector=selector)) == ["x"]
    assert ids(ask("paint", after, selector=selector)) == ["y"]
    assert ids(ask("paint", before, selector=selector)) == ["x"]


def test_parameter_names_and_titles_are_searched():
    tools = (
        Tool("a", "run", "", "", "", (Parameter("zipCode"),)),
        Tool("b", "go", "", "Invoice maker", ""),
        Tool("c", "stay", "", "", ""),
    )
    assert ids(ask("zip code", tools)) == ["a"]
    assert ids(ask("invoices", tools)) == ["b"]


def test_text_beyond_the_bound_is_not_read():
    tools = (Tool("a", "long", "", "", "word " * 1_000 + "needle"),)
    assert ids(ask("needle", tools)) == []


def test_a_long_prompt_is_read_at_both_ends():
    tools = (
        Tool("a", "zebra", "", "", ""),
        Tool("b", "walrus", "", "", ""),
        Tool("c", "mole", "", "", ""),
    )
    filler = "lorem " * 5_000
    assert set(ids(ask(f"zebra {filler} mole {filler} walrus", tools))) == {"a", "b"}


def test_few_tools_that_fit_well_are_not_padded_beyond_the_minimum():
    tools = tuple(
        Tool(f"t{at:02}", "paint", "", "", "paint wall red" if at < 2 else f"paint {'x ' * 60}")
        for at in range(30)
    )
    assert len(ids(ask("paint wall red", tools, limit=16, selector=Lexical(ratio=0.9)))) == 6
    assert len(ids(ask("paint wall red", tools, limit=16, selector=Lexical(ratio=0.0)))) == 16
