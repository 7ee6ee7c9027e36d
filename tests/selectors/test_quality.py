"""Ranking quality, held by a small set of prompts as people write them, few words shared.

The set was written for this project: 60 tools, 63 prompts. A floor that breaks means that ranking
got worse; raise it when ranking gets better for good.
"""

from pathlib import Path

import pytest

from toolpick.cli.labelled import read_queries, read_tools
from toolpick.cli.selectors import built, uncut
from toolpick.config.settings import SelectorSettings
from toolpick_selectors.contract import SelectionContext
from toolpick_selectors.evaluation import evaluate

FOLDER = Path(__file__).parent / "quality"
CATALOG = read_tools(FOLDER / "tools.jsonl")
QUERIES = read_queries(FOLDER / "queries.jsonl")


@pytest.mark.parametrize(
    ("kind", "recall", "selected"),
    [
        ("hybrid", 0.84, 0.87),
        ("embedding", 0.85, 0.85),
        ("lexical", 0.30, 0.30),
        ("keyword", 0.43, 0.42),
    ],
)
async def test_recall_stays_where_it_is(kind, recall, selected):
    settings = SelectorSettings()
    report = await evaluate(
        kind,
        built(kind, settings),
        CATALOG.tools,
        QUERIES,
        limit=settings.limit,
        tokens=CATALOG.tokens,
        clock=lambda: 0.0,
        ranker=uncut(kind, settings),
    )
    figures = report.figures()
    assert figures["recall@8"] >= recall
    assert figures["completeness@selected"] >= selected
    assert figures["selected_mean"] <= 12


async def test_foreign_prompts_are_no_worse_off_than_by_shared_words():
    prompts = {
        "schick Anna eine Nachricht": "mail/send_message",
        "¿qué tiempo hará mañana en Madrid?": "weather/get_forecast",
        "переведи этот текст на английский": "media/translate_text",
        "把这个文件夹压缩一下": "files/compress_folder",
        "ホテルを予約して": "travel/book_hotel",
    }
    found = dict.fromkeys(("hybrid", "lexical"), 0)
    for kind in found:
        selector = built(kind, SelectorSettings())
        for prompt, wanted in prompts.items():
            picks = selector.select(SelectionContext("t", prompt, (), 8), CATALOG.tools).picks
            found[kind] += wanted in [pick.id for pick in picks]
    assert found["hybrid"] == len(prompts)
    assert found["lexical"] <= found["hybrid"]
