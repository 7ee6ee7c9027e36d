import pytest

from toolpick_selectors.words import readable, spaced, squash, terms, words


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("addPerson", ["add", "person"]),
        ("appTableRecordSearch", ["app", "table", "record", "search"]),
        ("get-panel-image", ["get", "panel", "image"]),
        ("canvas_create_edge", ["canvas", "create", "edge"]),
        ("uber.ride#4", ["uber", "ride", "4"]),
        ("XMLParser", ["xml", "parser"]),
        ("HTTPServerError", ["http", "server", "error"]),
        ("listS3Buckets", ["list", "s3", "buckets"]),
        ("ДобавитьЗаказ", ["добавить", "заказ"]),
        ("ＦＵＬＬ width", ["full", "width"]),
        ("Straße", ["strasse"]),
        ("मौसम की जानकारी", ["मौसम", "की", "जानकारी"]),
        ("", []),
        ("!!! ???", []),
    ],
)
def test_identifiers_are_cut_where_people_see_words(text, wanted):
    assert words(text) == wanted


def test_stop_words_go_and_english_is_stemmed():
    assert terms("please find me the emails that were sent") == terms("find email sent")


def test_a_camel_case_word_is_also_found_written_as_one():
    assert set(terms("GitHub")) >= {"github", "git", "hub"}


def test_scripts_without_spaces_become_pairs():
    assert terms("查询天气") == ["查询", "询天", "天气"]
    assert terms("予定を追加") == ["予定", "定を", "を追", "追加"]
    assert terms("雨") == ["雨"]
    assert set(terms("用Excel打开")) == {"excel", "用", "打开"}


def test_accents_may_be_left_out_but_other_scripts_keep_their_marks():
    assert terms("añadir événement") == terms("anadir evenement")
    assert terms("й") != terms("и")


def test_spelling_styles_of_one_name_are_equal_when_squashed():
    assert squash("send_email") == squash("sendEmail") == squash("Send-Email") == "sendemail"


def test_spaced_keeps_capital_letters():
    assert spaced("listS3Buckets") == "list S3 Buckets"


def test_halves_of_characters_are_replaced():
    assert readable("a\ud800b 🙂") == "a?b 🙂"
