"""Which property a key parameter names: `orderId`, `order`, `id_or_name`, `order_number`."""

import re
from collections.abc import Collection, Mapping

from environments.core.compile.reading.words import snake, squash

_NAME_WORDS = re.compile(r"\bname\b", re.IGNORECASE)
_ID_WORDS = re.compile(r"\b(ids?|identifiers?|uuid|guid|number)\b", re.IGNORECASE)


def names_other(parameter: str, noun: str, nouns: Collection[str]) -> bool:
    """Whether a parameter gives the key of another thing: `project_id` of an analysis."""
    match = re.fullmatch(r"(.+?)_?(id|uuid|gid|sid|guid|arn)", snake(parameter))
    if match is None or match[1] == noun or noun.endswith(f"_{match[1]}") or noun.startswith(f"{match[1]}_"):
        return False
    return match[1] in nouns


def says_name(description: str) -> bool:
    """Whether the words about a parameter call it a name, and no id."""
    return bool(_NAME_WORDS.search(description)) and not _ID_WORDS.search(description)


def key_name(parameter: str, noun: str, names: Mapping[str, str], *, is_name: bool = False) -> str | None:
    """The property that a key parameter names.

    Args:
        parameter: As the API has it: `orderId`, `user`, `id_or_name`.
        noun: Of the resource.
        names: Properties by squashed name.
        is_name: Whether its description calls it a name.

    Returns:
        One of the values of `names`.
    """
    asked, thing = squash(parameter), squash(noun)
    wanted = [asked]
    if is_name:
        wanted += ["name", f"{thing}name"]
    if asked.endswith(("username", "login")):
        wanted += ["username", "login", "handle", "nickname"]
    if asked.startswith(thing) and asked != thing:
        wanted.append(asked[len(thing) :])
    if asked == thing or "idor" in asked or noun.endswith(f"_{snake(parameter)}"):
        wanted += [
            "id",
            f"{thing}id",
            "gid",
            "sid",
            "uuid",
            "slug",
            "code",
            "username",
            "login",
            "name",
            "number",
            "key",
        ]
    if asked.endswith(("id", "uuid", "guid", "identifier", "gid")):
        wanted += ["id", f"{thing}id", "uuid", "guid", "gid", "key", "number"]
    if asked.endswith("sid"):
        wanted.append("sid")
    if asked.endswith("name"):
        wanted += ["name", f"{thing}name"]
    tail = re.fullmatch(r"(.{3,}?)(id|arn|name)", asked)
    if tail and thing.endswith(tail[1]):
        wanted += [thing + tail[2], tail[2]]
    ending = re.search(r"(arn|code|key|number|slug)$", asked)
    if ending:
        wanted.append(ending[1])
    return next((names[each] for each in wanted if each in names), None)
