"""Numbers in text: where they are and which number each is, in any decimal script and in Han numerals.

A number is its sign, digits and separators as written, so `1.5` is neither `15` nor `1,5`. Han numerals are numbers
too (`二十三` is 23, `二〇二六` is 2026); one that is written in no standard way stands for itself.
"""

import re
import unicodedata
from collections.abc import Iterator

_DIGITS = {
    **dict.fromkeys("〇零", 0),
    **dict.fromkeys("一壹壱弌", 1),
    **dict.fromkeys("二贰貳弐两兩", 2),
    **dict.fromkeys("三叁參参弎", 3),
    **dict.fromkeys("四肆", 4),
    **dict.fromkeys("五伍", 5),
    **dict.fromkeys("六陆陸", 6),
    **dict.fromkeys("七柒漆", 7),
    **dict.fromkeys("八捌", 8),
    **dict.fromkeys("九玖", 9),
}
_PLACES = {
    **dict.fromkeys("十拾", 10),
    **dict.fromkeys("百佰", 100),
    **dict.fromkeys("千仟", 1_000),
    **dict.fromkeys("万萬", 10**4),
    **dict.fromkeys("亿億", 10**8),
    **dict.fromkeys("兆", 10**12),
}
_MYRIAD = 10**4

# Common words that are written with numerals and count nothing: without them "together" would be the number one.
_WORDS = (
    "一起|一下|一些|一样|一樣|一定|一直|一般|一切|一共|一旦|统一|統一|唯一|万一|萬一|十分(?![钟鐘])|千万|千萬|三明治"
)
# Formal digits that are also everyday characters (參加, 陆地, 漆) count only beside another numeral.
_EVERYDAY = frozenset("參参陆陸漆")
_HAN = f"[{''.join([*_DIGITS, *_PLACES])}]+"
_NUMBER = re.compile(rf"(?P<word>{_WORDS})|(?P<han>{_HAN})|(?:(?<!\w)[-+\u2212])?\d+(?:[.,:/\u2044]\d+)*")


def find_numbers(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each number of a folded text begins and ends, and the number in its one form."""
    for match in _NUMBER.finditer(text):
        if match["word"] is None and not _EVERYDAY.issuperset(match[0]):
            form = _han_number(match["han"]) if match["han"] else _decimal_number(match[0])
            yield match.start(), match.end(), form


def _decimal_number(text: str) -> str:
    if text.isascii():
        return text
    text = text.replace("\u2212", "-").replace("\u2044", "/")
    return "".join(str(unicodedata.decimal(character, character)) for character in text)


def _han_number(text: str) -> str:
    """The digits of a Han numeral, or the numeral itself where its value is not plain."""
    if all(character in _DIGITS for character in text):  # read digit by digit, like a year
        return "".join(str(_DIGITS[character]) for character in text)
    total = part = 0  # `part` is what has been read of the four places below the next myriad
    digit: int | None = None
    last_place, last_myriad = _MYRIAD, 10**16
    is_after_zero = False
    for character in text:
        if character in _DIGITS:
            if digit is not None:
                return text
            digit = _DIGITS[character] or None
            is_after_zero = is_after_zero or digit is None
            continue
        place = _PLACES[character]
        if place < _MYRIAD:
            if place >= last_place:
                return text
            part += (1 if digit is None else digit) * place
            last_place = place
        else:
            part += digit or 0
            if place >= last_myriad or (part == 0 and total):
                return text
            total += (part or 1) * place
            part, last_place, last_myriad = 0, _MYRIAD, place
        digit, is_after_zero = None, False
    # 一百五 is 150 to one reader and 105 to another; 一百零五 and 十五 are plain.
    if digit is not None and last_place != 10 and not is_after_zero:
        return text
    return str(total + part + (digit or 0))
