"""What an operation's name says, where its path says nothing: `CreateOrder`, `conversations.archive`."""

from collections.abc import Sequence
from dataclasses import dataclass

from environments.core.compile.reading.calls import Act
from environments.core.compile.reading.errors import UnreadOperationError
from environments.core.compile.reading.verbs import (
    ACTIONS,
    BULK_WORDS,
    FILLERS,
    PAIR_ALONE,
    PAIR_PREPOSITIONS,
    PAIR_WORDS,
    RELATION_PREPOSITIONS,
    RPC_WORDS,
    VERB_FORMS,
    VERSION_WORD,
    VIEW_WORDS,
)
from environments.core.compile.reading.vocabulary import TRANSITIONS
from environments.core.compile.reading.words import snake


@dataclass(frozen=True, slots=True)
class NameParts:
    """A name, taken apart.

    Attributes:
        act: What the verb says.
        verb: The verb, for ACTION, ADD and REMOVE in its plain form.
        noun: What it is done to, as written; for ADD and REMOVE what is put in or taken out.
        other: For ADD and REMOVE, to or from what; empty if the name doesn't say.
    """

    act: Act
    verb: str
    noun: str
    other: str = ""


def plain_verb(word: str) -> str:
    """The plain form of a verb that leads to a state, or of any other; empty for what only looks like one."""
    return VERB_FORMS.get(word, word)


def read_name(name: str) -> NameParts:
    """Verb and noun of an operation's name, in any style.

    Raises:
        UnreadOperationError: It begins and ends with no known verb, or has no noun.
    """
    if "." in name.strip("."):
        *path, last = [part for part in name.split(".") if part]
        nouns = [snake(part) for part in path if snake(part) not in ("admin", "api", "rest")]
        return _dotted(nouns, snake(last).split("_"))
    words = snake(name).split("_")
    while len(words) > 2 and VERSION_WORD.fullmatch(words[-1]):
        words.pop()
    found = _from_front(words) or _from_back(words)
    if found is None:
        raise UnreadOperationError("bulk_operation" if words[0] in BULK_WORDS else "rpc_verb_unknown", name)
    if not found.noun:
        raise UnreadOperationError("rpc_verb_unknown", name)
    return found


def _dotted(nouns: Sequence[str], words: list[str]) -> NameParts:
    """`conversations.archive`: the noun stands before the verb."""
    if not nouns:
        return read_name("_".join(words))
    noun = "_".join(nouns)
    if len(words) == 1:
        found = _verb(words[0])
        if found is not None:
            return NameParts(*found, noun)
    elif words[0] in RPC_WORDS or words[0] in TRANSITIONS:
        front = _from_front(words)
        if front is not None:
            return NameParts(front.act, front.verb, f"{noun}_{front.noun}" if front.noun else noun)
    raise UnreadOperationError("rpc_verb_unknown", ".".join([*nouns, "_".join(words)]))


def _verb(word: str) -> tuple[Act, str] | None:
    if word in RPC_WORDS:
        return RPC_WORDS[word], ""
    plain = plain_verb(word)
    if plain in TRANSITIONS or plain in ACTIONS:
        return Act.ACTION, plain
    return None


def _from_front(words: Sequence[str]) -> NameParts | None:
    first, rest = words[0], list(words[1:])
    if first in PAIR_WORDS:
        cut = next((place for place, word in enumerate(rest) if word in PAIR_PREPOSITIONS and place > 0), None)
        if cut is not None and rest[cut + 1 :]:
            noun, other = _noun(rest[:cut]), _noun(rest[cut + 1 :])
            if noun and other:
                return NameParts(PAIR_WORDS[first], first, noun, other)
        if first in PAIR_ALONE:
            return NameParts(PAIR_WORDS[first], first, _noun(rest))
    two = plain_verb("_".join(words[:2]))
    if len(words) > 2 and two in TRANSITIONS:
        return NameParts(Act.ACTION, two, _noun(words[2:]))
    found = _verb(first)
    if found is None or first in BULK_WORDS:
        return None
    act, verb = found
    return NameParts(act, verb, _noun(rest, is_view=act is Act.GET))


def _from_back(words: Sequence[str]) -> NameParts | None:
    """`order_create`, `users_list`."""
    found = _verb(words[-1]) if len(words) > 1 and words[0] not in BULK_WORDS else None
    return NameParts(*found, _noun(words[:-1])) if found is not None else None


def _noun(words: Sequence[str], *, is_view: bool = False) -> str:
    """The noun among words: without fillers in front, relations behind (`tags_for_resource`) and words of a view."""
    rest = list(words)
    while len(rest) > 1 and rest[0] in FILLERS:
        rest.pop(0)
    cut = next((place for place, word in enumerate(rest) if word in RELATION_PREPOSITIONS), len(rest))
    rest = rest[:cut]
    while is_view and len(rest) > 1 and rest[-1] in VIEW_WORDS:
        rest.pop()
    return "_".join(rest)
