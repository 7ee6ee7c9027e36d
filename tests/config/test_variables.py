import pytest

from toolpick.config.variables import Filled, fill

ENVIRON = {"A": "1", "EMPTY": "", "FORM": "${A}"}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${A}", Filled("1")),
        ("x${A}y${A}", Filled("x1y1")),
        ("${NO:-d e}", Filled("d e")),
        ("${NO:-}", Filled("")),
        ("${EMPTY}", Filled("")),
        ("${EMPTY:-d}", Filled("d")),
        ("${FORM}", Filled("${A}")),
        ("${NO}${A}${NO}${NOR}", Filled("1", unset=("NO", "NOR"))),
        ("${NO:-${A}}", Filled("${A}", nested=("NO",))),
        ("pa$$word", Filled("pa$$word")),
        ("$A $ $$ ${ ${} ${1} ${A-b}", Filled("$A $ $$ ${ ${} ${1} ${A-b}")),
        ("$${A}", Filled("${A}")),
        ("$$${A}", Filled("$${A}")),
        ("$${", Filled("${")),
        ("${NO:-$}${A}", Filled("$1")),
    ],
)
def test_forms_are_filled_in_and_other_dollars_stay(text: str, filled: Filled) -> None:
    if filled.nested:
        assert fill(text, ENVIRON).nested == filled.nested
    else:
        assert fill(text, ENVIRON) == filled
