from toolpick.turns import Past, Pasts
from toolpick.turns.past import CALLED, CONVERSATIONS, PROMPT_ROOM, PROMPTS


def test_the_last_prompts_and_calls_are_kept_in_order():
    past = Past().with_prompt("rain?").with_call("sky").with_prompt("mail it").with_call("post")

    assert past == Past(("rain?", "mail it"), ("sky", "post"))


def test_a_tool_that_is_called_again_is_the_last_one_called():
    assert Past().with_call("a").with_call("b").with_call("a").called == ("b", "a")


def test_everything_is_bounded():
    past = Past()
    for number in range(100):
        past = past.with_prompt(str(number)).with_call(str(number))
    past = past.with_prompt("x" * 5000)

    assert past.prompts == ("95", "96", "97", "98", "99", "x" * PROMPT_ROOM)
    assert len(past.prompts) == PROMPTS
    assert past.called == tuple(str(number) for number in range(100 - CALLED, 100))


def test_a_prompt_is_not_its_own_past():
    past = Past(("rain?", "and wind?"))

    assert past.before("and wind?") == Past(("rain?",))
    assert past.before("rain?") is past
    assert Past(("y" * PROMPT_ROOM,)).before("y" * 5000) == Past()


def test_conversations_of_a_session_are_kept_apart():
    pasts = Pasts()
    pasts.prompted("one", "rain?")
    pasts.called("sky")
    pasts.prompted("two", "mail")
    pasts.called("post")
    pasts.prompted("one", "wind?")
    pasts.called("air")

    assert pasts.of("one") == Past(("rain?", "wind?"), ("sky", "air"))
    assert pasts.of("two") == Past(("mail",), ("post",))
    assert pasts.of("three") == Past()


def test_calls_before_any_prompt_belong_to_the_conversation_without_a_name():
    pasts = Pasts()
    pasts.called("sky")

    assert pasts.of("") == Past((), ("sky",))


def test_conversations_that_were_quiet_longest_are_forgotten():
    pasts = Pasts()
    for number in range(CONVERSATIONS):
        pasts.prompted(str(number), "x")
    pasts.prompted("0", "y")
    pasts.prompted("new", "z")

    assert pasts.of("0") == Past(("x", "y"))
    assert pasts.of("1") == Past()
