"""When two values are equal, by example (docs/contracts.md, C6.2; sentences 8 to 13)."""

import json
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.runtime.equality.errors import MalformedValueError
from environments.runtime.equality.values import Judge, Rule, cast, judge, judging_steps
from tests.environments.runtime.equality import oracle
from tests.environments.runtime.equality.worlds import NOTE, WORDS, column

WORD, JSON = column("word"), column("data", is_json=True)
REAL, INTEGER = column("size", "REAL"), column("count", "INTEGER")

EXAMPLES = [
    # Free text: normal form
    (NOTE, "Call me, please!", "\uff23\uff21\uff2c\uff2c me please", True, Rule.NORMALISED),
    (NOTE, "straße", "STRASSE", True, Rule.NORMALISED),
    (NOTE, "東京タワー", "東京 タワー。", True, Rule.NORMALISED),
    (NOTE, "a + b", "a b", True, Rule.FUZZY),  # symbols stay, so this is not only normalised
    (NOTE, "5 €", "5 $", False, Rule.FUZZY),
    (NOTE, "!", "?", False, Rule.FUZZY),  # punctuation only is compared as it is
    (NOTE, "!", "\uff01", True, Rule.NORMALISED),
    (NOTE, None, "", False, Rule.NORMALISED),
    (NOTE, "", "", True, Rule.EXACT),
    # Free text: F1
    (NOTE, "one two three four five", "one two three four six", True, Rule.FUZZY),
    (NOTE, "one two three four", "one two three five", False, Rule.FUZZY),
    (NOTE, "a a a a b", "a a a a c", True, Rule.FUZZY),  # multisets: sets would give 0.5
    (NOTE, "a b b b b", "a a a a b", False, Rule.FUZZY),
    (NOTE, "我想预订明天晚上的桌子", "我想预订明天晚上的桌", True, Rule.FUZZY),
    (NOTE, "我想预订明天晚上的桌子", "请取消昨天早上的房间", False, Rule.FUZZY),
    (NOTE, "ขอจองโต๊ะสำหรับคืนนี้", "ขอจองโต๊ะสำหรับคืนนี้ครับ", True, Rule.FUZZY),
    (NOTE, "내일 저녁 자리를 예약해 주세요", "내일저녁자리를예약해주세요", True, Rule.NORMALISED),
    # Numbers come first
    (NOTE, "ship 15 boxes to the old north gate", "ship 16 boxes to the old north gate", False, Rule.NUMBERS),
    (NOTE, "from 1 to 2 by the old gate now", "from 2 to 1 by the old gate now", False, Rule.NUMBERS),
    (NOTE, "1.5", "15", False, Rule.NUMBERS),
    (NOTE, "1,5", "1.5", False, Rule.NUMBERS),
    (NOTE, "-5", "5", False, Rule.NUMBERS),
    (NOTE, "\u22125", "-5", True, Rule.NORMALISED),
    (NOTE, "a-5", "a 5", True, Rule.NORMALISED),  # a dash between word and number is no sign
    (NOTE, "10²", "102", False, Rule.NUMBERS),
    (NOTE, "1½ cups", "11/2 cups", False, Rule.NUMBERS),
    (NOTE, "٣ boxes", "3 boxes", True, Rule.NORMALISED),
    (NOTE, "A1 and B2", "A2 and B1", False, Rule.NUMBERS),
    (NOTE, "5 am", "am 5", True, Rule.FUZZY),  # a number keeps its place in the normal form
    # Han numerals are numbers
    (NOTE, "我想预订明天晚上七点的两人桌", "我想预订明天晚上七点的三人桌", False, Rule.NUMBERS),
    (NOTE, "预订七点的两人桌", "预订7点的2人桌", True, Rule.NORMALISED),
    (NOTE, "二十三个", "23个", True, Rule.NORMALISED),
    (NOTE, "二〇二六年", "2026年", True, Rule.NORMALISED),
    (NOTE, "一万二千三百四十五元", "12345元", True, Rule.NORMALISED),
    (NOTE, "一百零五元", "105元", True, Rule.NORMALISED),
    (NOTE, "一百五元", "105元", False, Rule.NUMBERS),  # 150 to some readers
    (NOTE, "伍仟元", "5000元", True, Rule.NORMALISED),
    (NOTE, "我们一起去看电影好不好", "我们一起去看电影吧好不好", True, Rule.FUZZY),  # "together" holds no number
    (NOTE, "十分好", "10分好", False, Rule.NUMBERS),  # "very good"
    (NOTE, "十分钟", "10分钟", True, Rule.NORMALISED),
    # Negation
    (NOTE, "please do not call the customer", "please do call the customer", False, Rule.NEGATION),
    (NOTE, "please don't call the old customer", "please do not call the old customer", False, Rule.FUZZY),
    (NOTE, "ring the bell, do not knock at the door", "do not knock at the door, ring bell", True, Rule.FUZZY),
    (NOTE, "notable guest at the door today", "notable guest at the door tonight", True, Rule.FUZZY),
    # JSON
    (JSON, '{"a": 1, "b": [1, 2]}', '{"b":[1,2.0],"a":1}', True, Rule.JSON),
    (JSON, '{"a": 1}', '{"a": true}', False, Rule.JSON),
    (JSON, "[1,2]", "[2,1]", False, Rule.JSON),
    (JSON, "[0.1]", "[0.10000001]", False, Rule.JSON),
    (JSON, "100", "1e2", True, Rule.JSON),
    (JSON, "-0.0", "0", True, Rule.JSON),
    (JSON, '"\\u00e9"', '"é"', True, Rule.JSON),
    (JSON, '"e\u0301"', '"é"', False, Rule.JSON),
    (JSON, '"1"', "1", False, Rule.JSON),
    (JSON, "null", None, False, Rule.JSON),
    (JSON, f"[{'9' * 5_000}]", f"[{'9' * 5_000}.0]", True, Rule.JSON),
    # REAL
    (REAL, 1, 1.0, True, Rule.EXACT),
    (REAL, 1.0, 1.0000009, True, Rule.TOLERANCE),
    (REAL, 1.0, 1.0000011, False, Rule.TOLERANCE),
    (REAL, -1.0, -1.0000009, True, Rule.TOLERANCE),
    (REAL, 1_000_000.0, 999_999.0000005, True, Rule.TOLERANCE),  # of the larger magnitude
    (REAL, 0.0, 1e-9, False, Rule.TOLERANCE),
    (REAL, 0.0, -0.0, True, Rule.EXACT),
    (REAL, 1e-9, -1e-9, False, Rule.TOLERANCE),
    (REAL, math.inf, 1e308, False, Rule.TOLERANCE),
    (REAL, math.inf, math.inf, True, Rule.EXACT),
    (REAL, None, 0.0, False, Rule.EXACT),
    # Hard values
    (INTEGER, True, 1, True, Rule.EXACT),
    (INTEGER, 5.0, 5, True, Rule.EXACT),
    (INTEGER, 1_000_000, 1_000_001, False, Rule.EXACT),
    (INTEGER, 2**53 + 1, 2**53, False, Rule.EXACT),
    (WORD, "a", "A", False, Rule.EXACT),
    (WORD, "é", "e\u0301", False, Rule.EXACT),
    (WORD, None, None, True, Rule.EXACT),
]


@pytest.mark.parametrize(("info", "one", "other", "is_equal", "rule"), EXAMPLES)
def test_values_are_judged(info, one, other, is_equal, rule):
    assert judge(info, one, other) == (is_equal, rule)
    assert judge(info, other, one) == (is_equal, rule)


@pytest.mark.parametrize(
    ("info", "one", "other"),
    [(REAL, 1.0, 1.0000001), (NOTE, "one two three four five", "one two three four six")],
)
def test_lenient_rules_do_not_count_when_not_lenient(info, one, other):
    assert judge(info, one, other).is_equal
    assert not judge(info, one, other, is_lenient=False).is_equal


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en-GB", "please never call the customer at home", "please call the customer at home"),
        ("de", "bitte den Kunden nicht heute anrufen", "bitte den Kunden heute anrufen"),
        ("fr", "ne pas appeler le client à la maison", "appeler le client à la maison"),
        ("fr", "il n'y a pas de lait dans le frigo ce soir", "il y a du lait dans le frigo ce soir"),
        ("es", "no llamar al vecino a su casa hoy", "llamar al vecino a su casa hoy"),
        ("it", "non chiamare il vicino a casa oggi", "chiamare il vicino a casa oggi"),
        ("pt", "não ligar para o vizinho em casa hoje", "ligar para o vizinho em casa hoje"),
        ("nl", "de klant vandaag niet meer bellen aub", "de klant vandaag meer bellen aub"),
        ("ru", "не звонить клиенту домой сегодня вечером", "звонить клиенту домой сегодня вечером"),
        ("zh", "明天晚上请不要给客户打电话谢谢", "明天晚上请要给客户打电话谢谢"),
        ("zh-Hant", "明天晚上請別給客戶打電話謝謝您", "明天晚上請給客戶打電話謝謝您"),
        ("ja", "お客様に電話をかけないでください", "お客様に電話をかけてください"),
        ("ko", "고객에게 오늘 저녁 전화하지 마세요", "고객에게 오늘 저녁 전화하세요"),
    ],
)
def test_negation_is_no_fuzzy_match(language, one, other):
    assert judge(NOTE, one, other, language=language) == (False, Rule.NEGATION)
    assert judge(NOTE, f"{one} !", one, language=language) == (True, Rule.NORMALISED)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("zh", "这家饭店的菜特别好吃我很喜欢", "这家饭店的菜真的好吃我很喜欢"),  # 特别 holds 别 and negates nothing
        ("ja", "明日の夜までに必ず電話をしてください", "明日の夜までに電話をしてください"),
    ],
)
def test_ordinary_word_is_no_negation_when_it_holds_one(language, one, other):
    assert judge(NOTE, one, other, language=language).rule is Rule.FUZZY


def test_fuzzy_match_is_unchecked_when_language_has_no_list():
    one, other = "tafadhali piga simu kwa mteja leo", "tafadhali piga simu kwa mteja kesho"
    assert judge(NOTE, one, other, language="sw") == (True, Rule.FUZZY_UNCHECKED)


@pytest.mark.parametrize(
    ("info", "value"),
    [
        (INTEGER, 1.5),
        (INTEGER, "5"),
        (INTEGER, math.inf),
        (REAL, "1.0"),
        (REAL, math.nan),
        (REAL, 10**400),
        (WORD, 5),
        (WORD, True),
        (WORD, b"a"),
        (WORD, "\ud800"),
        (WORD, ["a"]),
    ],
)
def test_value_is_refused_when_it_is_not_of_the_type(info, value):
    with pytest.raises(MalformedValueError):
        cast(info, value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "[1,]",
        "[1 2]",
        '{"a"}',
        '{"a":1,}',
        "{1:2}",
        "[1]]",
        "1 2",
        "01",
        "NaN",
        "Infinity",
        "'a'",
        '"\n"',
        '"\\x"',
        '{"a":1,"a":1}',
        '{"a":1,"\\u0061":2}',
        '[{"a":{},"a":[]}]',
        "]",
        ":",
        "[" * 1_001 + "]" * 1_001,
        "[" * 100_000,
        "1e9999999999999999999",
    ],
)
def test_json_is_refused_when_it_cannot_be_compared(text):
    with pytest.raises(MalformedValueError):
        judge(JSON, text, "{}")


def test_deep_json_is_compared_when_sqlite_accepts_its_depth():
    deep = "[" * 1_000 + "]" * 1_000
    assert judge(JSON, deep, deep.replace("[", " [")) == (True, Rule.JSON)
    assert not judge(JSON, deep, deep.replace("[]", "[1]")).is_equal


def test_steps_grow_with_the_text():
    assert judging_steps(REAL, 1.0, 2.0) == judging_steps(JSON, "[]", "{}") == 1
    assert judging_steps(NOTE, "a", "b") == 5
    assert judging_steps(NOTE, "a" * 1_500, "b" * 2_500) == 9


values = st.none() | st.text(max_size=30) | st.lists(st.sampled_from([*WORDS, "not", "5"]), max_size=8).map(" ".join)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from([NOTE, WORD]), values, values, st.booleans())
@settings(max_examples=300, deadline=None)
def test_rules_are_symmetric_and_reflexive(info, one, other, is_lenient):
    ruling = judge(info, one, other, is_lenient=is_lenient)
    assert ruling == judge(info, other, one, is_lenient=is_lenient)
    assert judge(info, one, one).is_equal
    if judge(info, one, other, is_lenient=False).is_equal:
        assert ruling.is_equal  # lenient rules only add


@given(st.lists(st.sampled_from([*WORDS, "not", "5", "6!", "GREEN,"]), max_size=10), st.data())
@settings(max_examples=300, deadline=None)
def test_texts_are_judged_as_by_a_judge_written_apart(words, data):
    other = list(words)
    for place in data.draw(st.lists(st.integers(0, 9), max_size=3)):
        if place < len(other):
            other[place] = data.draw(st.sampled_from(["red", "not", "5"]))
    for is_lenient in (True, False):
        expected = oracle.same(NOTE, " ".join(words), " ".join(other), is_lenient)
        assert judge(NOTE, " ".join(words), " ".join(other), is_lenient=is_lenient).is_equal == expected


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
@settings(max_examples=300, deadline=None)
def test_canonical_forms_say_what_the_exact_rule_says(one, other):
    forms = Judge()
    assert (forms.canonical(REAL, one) == forms.canonical(REAL, other)) == judge(REAL, one, other, is_lenient=False)[0]


@pytest.mark.parametrize(
    "character", [chr(code) for code in (*range(0x20), *range(0x7E, 0xA1), 0x2028, 0xFEFF, 0x1F600)]
)
def test_json_text_is_the_same_however_it_is_escaped(character):
    escaped, literal = json.dumps({character: [character]}), json.dumps({character: [character]}, ensure_ascii=False)

    assert judge(JSON, escaped, literal).is_equal
    assert not judge(JSON, escaped, json.dumps({character: [character + "x"]})).is_equal


@given(json_values, json_values)
@settings(max_examples=300, deadline=None)
def test_json_is_judged_as_by_a_judge_written_apart(one, other):
    texts = json.dumps(one), json.dumps(other, ensure_ascii=False, indent=1)
    if "\\ud" in texts[0]:
        return
    assert judge(JSON, *texts).is_equal == oracle.same(JSON, *texts, True)
    assert judge(JSON, texts[0], json.dumps(one, indent=2, sort_keys=True)).is_equal


LONG = 50_000


@pytest.mark.parametrize(
    ("info", "text"),
    [
        *((NOTE, piece * LONG) for piece in ("a", "1", "1,", "-", "- 1", "參", "一", "參 ", "不", "n'", "\u0301", "ﷺ")),
        (JSON, '"' + "\\\\" * LONG + '"'),
        (JSON, '"' + "é" * LONG + '"'),
        (JSON, "[" + "1," * LONG + "1]"),
        (JSON, "[" * 900 + "1" * LONG + "]" * 900),
        (JSON, "{" + ",".join(f'"{number}":[]' for number in range(LONG // 10)) + "}"),
    ],
    ids=lambda value: value[:6] if isinstance(value, str) else value.name,
)
def test_hostile_text_costs_time_in_proportion_to_its_length(info, text):
    started = time.process_time()
    judge(info, text, text + " ", language="zh")
    judge(info, text, text + " ", language="en")
    assert time.process_time() - started < 3


@pytest.mark.parametrize("text", ['"' + "\\\\" * LONG, "[" + "1," * LONG, '"' + "a" * LONG, "-" * LONG, " " * LONG])
def test_hostile_text_that_is_no_json_is_refused_in_proportion_to_its_length(text):
    started = time.process_time()
    with pytest.raises(MalformedValueError):
        judge(JSON, text, "[]")
    assert time.process_time() - started < 3
