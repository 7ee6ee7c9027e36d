"""Tables for people."""

from toolpick.cli.table import table


def test_columns_are_as_wide_as_they_need_to_be() -> None:
    assert table(("a", "long head"), [("longer", "x"), ("", "")]) == (
        "a       long head\nlonger  x\n"
    )


def test_a_table_without_rows_is_its_head() -> None:
    assert table(("a", "b"), []) == "a  b"


def test_what_others_have_written_can_not_upset_a_terminal() -> None:
    name = "\x1b]0;title\x07\x1b[2J\x9b31mre\x1b[1md\u202e\r\nnext"
    assert table(("a", "b"), [(name, "Zoë 👩\u200d💻")]) == (
        "a                         b\n ]0;title  31mred   next  Zoë 👩\u200d💻"
    )
