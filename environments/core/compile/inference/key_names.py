"""Which property a key parameter names: `orderId`, `order`, `id_or_name`, `order_number`."""

import re
from collections.abc import Collection, Mapping

from environments.core.compile.reading.words import snake, squash


def names_other(parameter: str, noun: str, nouns: Collection[str]) -> bool:
    """Whether a parameter gives the key of another thing: `project_id` of an analysis."""
    match = re.fullmatch(r"(.+?)_?(id|uuid|gid|sid|guid|arn)", snake(parameter))
    if match is None or match[1] == noun or noun.endswith(f"_{match[1]}") or noun.startswith(f"{match[1]}_"):
        return False
    return match[1] in nouns


def key_name(parameter: str, noun: str, names: Mapping[str, str]) -> str | None:
    """The property that a key parameter names.

    Args:
        parameter: As the API has it: `orderId`, `user`, `id_or_name`.
        noun: Of the resource.
        names: Properties by squashed name.

    Returns:
        One of the values of `names`.
    """
    asked, thing = squash(parameter), squash(noun)
    wanted = [asked]
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
