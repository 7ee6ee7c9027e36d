"""Tables for people."""

from toolpick.cli.table import table


def test_columns_are_as_wide_as_they_need_to_be() -> None:
    assert table(("a", "long head"), [("longer", "x"), ("", "")]) == (
        "a       long head\nlonger  x\n"
    )


def test_a_table_without_rows_is_its_head() -> None:
    assert table(("a", "b"), []) == "a  b"
