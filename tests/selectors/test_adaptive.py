import pytest

from toolpick_selectors.adaptive import size


@pytest.mark.parametrize(
    ("scores", "ratio", "minimum", "limit", "wanted"),
    [
        ([], 0.5, 6, 16, 0),
        ([1.0, 0.9, 0.4], 0.5, 1, 16, 2),
        ([1.0, 0.1, 0.1], 0.5, 2, 16, 2),
        ([1.0] * 40, 0.5, 6, 16, 16),
        ([1.0, 0.2], 0.5, 6, 16, 2),
        ([1.0] * 9, 0.5, 6, 3, 3),
        ([1.0, 0.0, 0.0], 0.0, 1, 16, 3),
    ],
)
def test_the_cut_keeps_what_scores_close_to_the_best_within_bounds(
    scores, ratio, minimum, limit, wanted
):
    assert size(scores, ratio=ratio, minimum=minimum, limit=limit) == wanted
