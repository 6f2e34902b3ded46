"""The words of a language that turn a statement around.

Token F1 cannot see that "do not call" and "do call" are opposites, so fuzzy text must hold the same negation words
the same number of times. What is on a list and turns nothing around only makes the rule stricter.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class _Negations:
    """One language's negation words.

    Attributes:
        pattern: Finds them in folded text; what the group `other` finds is an ordinary word that holds one.
        forms: Other spellings of a word, by spelling.
    """

    pattern: re.Pattern[str]
    forms: Mapping[str, str] = field(default_factory=dict)


def _spaced(words: str, *, before: str = "", forms: Mapping[str, str] | None = None) -> _Negations:
    """For scripts with spaces: whole words, and first what `before` finds anywhere."""
    whole = rf"(?<!\w)(?:{'|'.join([*words.split(), *(forms or {})])})(?!\w)"
    return _Negations(re.compile(f"{before}|{whole}" if before else whole), forms or {})


_NOT = (
    "cannot cant dont wont isnt arent aint wasnt werent didnt doesnt hadnt hasnt havent couldnt shouldnt wouldnt mustnt"
)
_NEGATIONS: Mapping[str, _Negations] = {
    "de": _spaced("nicht nie niemals nichts niemand nirgends ohne weder kein keine keinen keinem keiner keines"),
    "en": _Negations(
        re.compile(
            r"n['\u2019\u02bc]t(?!\w)|(?<!\w)(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|without|"
            rf"{_NOT.replace(' ', '|')})(?!\w)"
        ),
        {**dict.fromkeys(_NOT.split(), "not"), "n't": "not", "n\u2019t": "not", "n\u02bct": "not"},
    ),
    "es": _spaced("no nunca jamás nada nadie ningún ninguno ninguna ni sin tampoco"),
    "fr": _spaced("ne n pas jamais rien aucun aucune sans ni non", forms={"n": "ne"}),
    "it": _spaced("non mai niente nulla nessun nessuno nessuna né senza neanche nemmeno"),
    "ja": _Negations(
        re.compile(
            "(?P<other>必ず|まず|はず|少な|危な|非常|未来)|な(?:い|かった|く|ければ|し)|ませ[んぬ]|ず(?:に)?(?![\u3041-\u3096])|[不無未非]"
        ),
        dict.fromkeys(("なかった", "なく", "なければ", "なし", "ません", "ませぬ"), "ない"),
    ),
    "ko": _Negations(
        re.compile(r"(?P<other>안녕|안내|안전)|않|없|못|아니|아닌|마세요|마십시오|말아|말고|(?<!\w)안(?!\w)"),
        {"아닌": "아니", "마십시오": "마세요"},
    ),
    "nl": _spaced("niet geen nooit niets niemand nergens zonder noch"),
    "pt": _spaced("não nunca jamais nada ninguém nenhum nenhuma nem sem"),
    "ru": _spaced("не нет ни никогда ничего ничто никто никого никак нельзя без"),
    "zh": _Negations(
        re.compile(
            "(?P<other>特[别別]|[区區][别別]|分[别別]|[类類][别別]|[级級][别別]|性[别別]|[个個][别別]|[别別]人|告[别別]|"
            "非常|不[过過]|不[仅僅]|不但|差不多|[无無][论論]|未[来來])|[没沒]有|[不没沒未无無非别別勿莫毋]"
        ),
        {"没有": "没", "沒有": "没", "沒": "没", "無": "无", "別": "别"},
    ),
}


def has_negations(language: str) -> bool:
    """Whether there is a list for a language, given as a tag such as `en` or `zh-Hant`."""
    return _primary(language) in _NEGATIONS


def count_negations(text: str, language: str) -> Counter[str]:
    """How often each negation word stands in a folded text; nothing for a language without a list."""
    negations = _NEGATIONS.get(_primary(language))
    if negations is None:
        return Counter()
    found: Counter[str] = Counter()
    for match in negations.pattern.finditer(text):
        if match.groupdict().get("other") is None:
            found[negations.forms.get(match[0], match[0])] += 1
    return found


def _primary(language: str) -> str:
    return language.replace("_", "-").partition("-")[0].casefold()
