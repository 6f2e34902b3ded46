"""Where an operation acts and what it does there, by its path, its method and its name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from environments.core.compile.reading.calls import Act, Step
from environments.core.compile.reading.errors import UnreadOperationError
from environments.core.compile.reading.families import Family, Naming
from environments.core.compile.reading.names import NameParts, plain_verb, read_name
from environments.core.compile.reading.paths import ReadPath, read_path
from environments.core.compile.reading.verbs import (
    ACTIONS,
    BULK_WORDS,
    CRUD_WORDS,
    GROUP_WORDS,
    LOOKUP_LITERAL,
    NEVER_NOUNS,
    NOUNS_TOO,
    RPC_WORDS,
    SURE_VERBS,
)
from environments.core.compile.reading.vocabulary import TRANSITIONS
from environments.core.compile.reading.words import is_plural, plural, singular, snake, squash
from environments.core.sources.model import Location, Operation

_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_WRITING: Final = frozenset({"POST", "PUT", "PATCH"})
_RPC_PATH: Final = re.compile(r"#(?:[^#]*&)?(?:X-Amz-Target|Action)=(?:[^&]*\.)?(?P<name>\w+)")
_RPC_QUERY: Final = re.compile(r"\?(?:[^#]*&)?(?:method|action|Action)=(?P<name>[\w.]+)")
_TOOL_METHODS: Final = {Act.LIST: "GET", Act.GET: "GET", Act.COUNT: "GET", Act.DELETE: "DELETE", Act.REMOVE: "DELETE"}
_STANDARD: Final = frozenset(
    {("GET", Act.GET), ("GET", Act.LIST), ("DELETE", Act.DELETE), ("POST", Act.CREATE), ("PATCH", Act.UPDATE)}
)
"""What a method says by itself."""
_GOOGLE_METHODS: Final = frozenset({"list", "get", "create", "insert", "delete", "patch", "update"})
_PARTICIPLES: Final = {
    target: verb
    for verb, transition in TRANSITIONS.items()
    for target in transition.targets
    if target != verb and target.startswith(verb[:4])
}
"""`PUT /installations/{id}/suspended`."""
_HEADS: Final = frozenset({"get", "show", "read", "view", "edit", "update", "modify", "delete", "remove", "destroy",
                           "fetch", "retrieve"})  # fmt: skip
"""Verbs that may stand beside the collection: `/users/delete/{id}`, `/delete/user/{id}`."""
_HEAD_ACTS: Final = {word: RPC_WORDS[word] for word in sorted(_HEADS)}


@dataclass(frozen=True, slots=True)
class Chain:
    """Where and what.

    Attributes:
        steps: As `Call.steps`.
        act: As `Call.act`.
        verb: As `Call.verb`.
        is_rpc: As `Call.is_rpc`.
        method: As `Call.method`.
        ignored: Path parameters that are about the transport.
        names_many: Whether an RPC name has its noun in the plural.
    """

    steps: tuple[Step, ...]
    act: Act
    verb: str = ""
    is_rpc: bool = False
    method: str = ""
    ignored: frozenset[str] = frozenset()
    names_many: bool = False

    @property
    def noun(self) -> str:
        """Singular of the last literal."""
        return singular(next((step.literal for step in reversed(self.steps) if step.literal), ""))


def chain_of(operation: Operation, family: Family) -> Chain:
    """Where an operation acts and what it does there.

    Raises:
        UnreadOperationError: It isn't certain.
    """
    method = operation.method
    if not operation.path:
        parts = read_name(operation.name)
        return _of_name(parts, _TOOL_METHODS.get(parts.act, "POST"))
    if method not in _METHODS:
        raise UnreadOperationError("method_unknown", method)
    named = _RPC_PATH.search(operation.path) or _RPC_QUERY.search(operation.path)
    if named:
        return _of_name(read_name(named["name"]), method)
    path = read_path(_bare_path(operation), family.path_noise)
    if family.naming is Naming.OPERATION_NAME and path.first and operation.name.count(".") >= 2:
        return _of_whole_name(operation, path)
    if not any(step.literal for step in path.steps):
        raise UnreadOperationError("no_resource_in_path", operation.path)
    if path.verb:
        return _marked(path, method)
    if family.naming is Naming.VERB_NAME and operation.name:
        return _by_verb_name(operation, path)
    if family.naming is Naming.OPERATION_NAME and operation.name.count(".") >= 2:
        return _by_method_name(operation, path)
    chain = _by_path(operation, path)
    if family.post_acts and chain.act is Act.COLLECTION and chain.method == "POST" and len(chain.steps) > 1:
        return replace(chain, steps=chain.steps[:-1], act=Act.ACTION, verb=plain_verb(chain.steps[-1].literal))
    return chain


def _of_name(parts: NameParts, method: str) -> Chain:
    nouns = [parts.other, parts.noun] if parts.other else [parts.noun]
    steps = tuple(Step(plural(singular(noun))) for noun in nouns)
    return Chain(steps, parts.act, parts.verb, True, method, names_many=is_plural(parts.noun))


def _bare_path(operation: Operation) -> str:
    """The path without query and fragment.

    Raises:
        UnreadOperationError: The fragment is what tells it from another operation.
    """
    path, _, fragment = operation.path.partition("#")
    bare, _, query = path.partition("?")
    if fragment:
        names = {part.partition("=")[0] for part in fragment.split("&")}
        given = {each.name: each for each in operation.parameters if each.location is Location.QUERY}
        if any(name not in given or len(given[name].schema.get("enum", ())) == 1 for name in names):
            raise UnreadOperationError("path_fragment", fragment)
    if "=" in query and "{" not in query.partition("=")[2][:1]:
        raise UnreadOperationError("path_fragment", query)
    return bare


# --- Paths whose syntax or family says where the verb is --------------------------------------------------------------


def _marked(path: ReadPath, method: str) -> Chain:
    """A verb behind a colon, a dollar sign or a namespace."""
    chain = Chain(path.steps, Act.ACTION, plain_verb(path.verb), method=method, ignored=path.ignored)
    is_item = path.steps[-1].parameter is not None
    if path.verb == "$count":
        return replace(chain, act=Act.COUNT, verb="")
    if path.verb == "$ref":
        if method in ("POST", "PUT"):
            return replace(chain, act=Act.ADD, verb="add")
        if method == "DELETE":
            return replace(chain, act=Act.REMOVE, verb="remove")
        raise UnreadOperationError("relationship_object", path.verb)
    if path.verb.startswith("$"):
        raise UnreadOperationError("non_json_response" if path.verb == "$value" else "verb_in_path", path.verb)
    crud = CRUD_WORDS.get(path.verb)
    if crud is not None and (is_item == (crud in (Act.GET, Act.UPDATE, Act.DELETE))):
        return replace(chain, act=crud, verb="")
    if path.verb.split("_")[0] in BULK_WORDS:
        raise UnreadOperationError("bulk_operation", path.verb)
    if method == "GET":
        raise UnreadOperationError("type_cast" if path.is_namespaced else "verb_in_path", path.verb)
    return chain


def _of_whole_name(operation: Operation, path: ReadPath) -> Chain:
    """`/v1/{name}` and `/v1/{parent}/things`: the operation's name says which literals the parameter stands for."""
    _, *nouns, last = [snake(part) for part in operation.name.split(".")]
    literals = [step.literal for step in path.steps if step.literal]
    if any(step.parameter for step in path.steps[1:]) or len(literals) > 1:
        raise UnreadOperationError("complex_path_segment", operation.path)
    above = tuple(Step(noun) for noun in nouns[:-1])
    if not literals:
        steps = (*above, Step(nouns[-1], path.first))
        is_standard = last in ("get", "patch", "update", "delete")
    else:
        if squash(literals[0]) != squash(nouns[-1]):
            raise UnreadOperationError("path_and_name_differ", f"{literals[0]} is not {nouns[-1]}")
        if not above:
            raise UnreadOperationError("no_resource_in_path", operation.path)
        steps = (*above[:-1], Step(above[-1].literal, path.first), Step(nouns[-1]))
        is_standard = last in ("list", "create", "insert")
    if path.verb:
        return _marked(replace(path, steps=steps), operation.method)
    if not is_standard:
        raise UnreadOperationError("path_and_name_differ", f"{operation.path} is not {last}")
    act = Act.COLLECTION if literals else Act.ITEM
    return Chain(steps, act, method=operation.method, ignored=path.ignored)


def _by_method_name(operation: Operation, path: ReadPath) -> Chain:
    """`compute.instances.start`: whether the last literal is a noun or a verb, the name says."""
    method = snake(operation.name.rsplit(".", 1)[-1])
    last = path.steps[-1]
    if last.parameter is None and squash(last.literal) == squash(method):
        steps = path.steps[:-1]
        if operation.method == "GET" or not any(step.literal for step in steps):
            raise UnreadOperationError("verb_in_path", method)
        return Chain(steps, Act.ACTION, plain_verb(method), method=operation.method, ignored=path.ignored)
    if method in _GOOGLE_METHODS:
        act = Act.ITEM if last.parameter is not None else Act.COLLECTION
        return Chain(path.steps, act, method=operation.method, ignored=path.ignored)
    return _by_path(operation, path)


def _by_verb_name(operation: Operation, path: ReadPath) -> Chain:
    """Families whose operations are called verb and noun: the name says what, the path says where."""
    parts = read_name(operation.name)
    steps = path.steps
    last = steps[-1]
    first_word = snake(operation.name).split("_")[0]
    if last.parameter is None and len(steps) > 0:
        is_verb = last.literal.split("_")[0] == first_word or squash(last.literal).startswith(first_word)
        if is_verb and singular(last.literal) != singular(parts.noun):
            steps = steps[:-1]
    if not any(step.literal for step in steps):
        return _of_name(parts, operation.method)
    chain = Chain(steps, parts.act, parts.verb, False, operation.method, path.ignored)
    if (operation.method, parts.act) in _STANDARD and steps == path.steps:
        is_item = steps[-1].parameter is not None
        if is_item == (parts.act not in (Act.LIST, Act.CREATE)) or parts.act is Act.GET:
            return replace(chain, act=Act.ITEM if is_item else Act.COLLECTION)
    return chain


# --- Paths with verbs among their literals ----------------------------------------------------------------------------


def _by_path(operation: Operation, path: ReadPath) -> Chain:
    method, steps = operation.method, path.steps
    base = Chain(steps, Act.COLLECTION, method=method, ignored=path.ignored)
    for attempt in (_dotted_name, _lone_verb_and_noun, _beside, _lookup, _at_the_end):
        found = attempt(operation, base)
        if found is not None:
            return replace(found, ignored=path.ignored)
    if method != "GET":
        for step in steps[:-1]:
            if step.parameter is None and step.literal.split("_")[0] in BULK_WORDS | {"import", "export", "validate"}:
                raise UnreadOperationError("verb_in_path", step.literal)
    return replace(base, act=Act.ITEM if steps[-1].parameter is not None else Act.COLLECTION)


def _dotted_name(operation: Operation, chain: Chain) -> Chain | None:
    """`/conversations.archive`."""
    raw = operation.path.rstrip("/").rsplit("/", 1)[-1]
    if len(chain.steps) == 1 and chain.steps[0].parameter is None and "." in raw.strip("."):
        return _of_name(read_name(raw), chain.method)
    return None


def _lone_verb_and_noun(operation: Operation, chain: Chain) -> Chain | None:
    """`/createOrder`: the path is a name. Words that are nouns, too, need the operation's own name to say the same."""
    step = chain.steps[0]
    words = step.literal.split("_")
    if len(chain.steps) > 1 or step.parameter is not None or len(words) < 2:
        return None
    is_said = snake(operation.name).split("_")[0] == words[0] and chain.method != "GET"
    is_verb = words[0] in RPC_WORDS or words[0] in TRANSITIONS
    if words[0] in SURE_VERBS or words[0] in BULK_WORDS or (is_said and is_verb):
        return _of_name(read_name(step.literal), chain.method)
    return None


def _beside(operation: Operation, chain: Chain) -> Chain | None:
    """A verb before or behind the collection, with the key at the end: `/delete/user/{id}`, `/users/delete/{id}`."""
    if len(chain.steps) < 2:
        return None
    above, one, two = chain.steps[:-2], chain.steps[-2], chain.steps[-1]
    if one.parameter is not None:
        return None
    if two.parameter is None:
        return _verb_before(chain, above, one, two)
    for verb, noun in ((two.literal, one.literal), (one.literal, two.literal)):
        if not noun or not verb:
            continue
        item = (*above, Step(noun, two.parameter))
        if verb in _HEAD_ACTS and noun not in _HEAD_ACTS:
            act = _HEAD_ACTS[verb]
            is_plain = (chain.method, act) in _STANDARD
            return replace(chain, steps=item, act=Act.ITEM if is_plain else act)
        if plain_verb(verb) in TRANSITIONS and chain.method in _WRITING and not is_plural(verb):
            return replace(chain, steps=item, act=Act.ACTION, verb=plain_verb(verb))
    return None


def _verb_before(chain: Chain, above: tuple[Step, ...], one: Step, two: Step) -> Chain | None:
    """`/search/repositories`, `/create/user`."""
    if above or two.literal in CRUD_WORDS or plain_verb(two.literal) in TRANSITIONS:
        return None
    act = CRUD_WORDS.get(one.literal)
    if act is None or (act is Act.LIST and one.literal not in ("search", "list", "find", "query", "browse")):
        return None
    if act is Act.CREATE and chain.method not in _WRITING:
        return None
    if act is Act.LIST and singular(two.literal) == two.literal != plural(two.literal):
        return None
    return replace(chain, steps=(two,), act=act)


def _lookup(operation: Operation, chain: Chain) -> Chain | None:
    """`/pets/findByStatus`, `/users/by_email/{email}`: rows of the collection that have a value."""
    if len(chain.steps) < 2:
        return None
    *above, last = chain.steps
    found = LOOKUP_LITERAL.fullmatch(last.literal)
    if found is None:
        return None
    is_read = chain.method == "GET" or (chain.method == "POST" and found["verb"] is not None)
    if above[-1].parameter is not None or not above[-1].literal or not is_read:
        raise UnreadOperationError("verb_in_path", last.literal)
    act = Act.LIST if found["verb"] in ("find", "search", "list", "query", "filter") else Act.GET
    return replace(chain, steps=tuple(above), act=act)


def _at_the_end(operation: Operation, chain: Chain) -> Chain | None:
    """A verb as the last literal."""
    last = chain.steps[-1]
    if len(chain.steps) < 2 or last.parameter is not None:
        return None
    above = chain.steps[:-1]
    if not any(step.literal for step in above):
        return None
    chain = replace(chain, steps=above)
    literal, plain = last.literal, plain_verb(last.literal)
    if above[-1].literal in GROUP_WORDS and above[-1].parameter is None and len(above) > 1:
        # `/users/{id}/lifecycle/activate`
        chain = replace(chain, steps=above[:-1])
    if literal in CRUD_WORDS:
        return _crud(chain, literal)
    if (plain in TRANSITIONS or plain in ACTIONS) and not (literal in NOUNS_TOO and operation.method == "GET"):
        return _action(chain, plain)
    if literal in _PARTICIPLES and _is_item(chain) and chain.method in ("PUT", "DELETE"):
        return _action(chain, _PARTICIPLES[literal])
    words = literal.split("_")
    if len(words) == 1:
        return None
    return _verb_and_noun(chain, words)


def _is_item(chain: Chain) -> bool:
    return chain.steps[-1].parameter is not None


def _crud(chain: Chain, literal: str) -> Chain:
    act = CRUD_WORDS[literal]
    if act in (Act.LIST, Act.COUNT):
        is_known = not _is_item(chain) and chain.method in ("GET", "POST")
    elif act is Act.CREATE:
        is_known = not _is_item(chain) and chain.method in _WRITING
    elif act is Act.GET:
        is_known = chain.method in ("GET", "POST")
    else:
        is_known = chain.method != "GET"
    if not is_known:
        raise UnreadOperationError("verb_in_path", literal)
    is_plain = (chain.method, act) in _STANDARD and _is_item(chain)
    return replace(chain, act=Act.ITEM if is_plain else act)


def _action(chain: Chain, verb: str) -> Chain:
    if chain.method in _WRITING:
        return replace(chain, act=Act.ACTION, verb=verb)
    transition = TRANSITIONS.get(verb)
    if chain.method == "DELETE" and transition is not None and transition.opposite and _is_item(chain):
        return replace(chain, act=Act.ACTION, verb=transition.opposite)
    raise UnreadOperationError("verb_in_path", verb)


def _verb_and_noun(chain: Chain, words: list[str]) -> Chain | None:
    """`/orders/{id}/cancelOrder`, `/orders/createOrder`, `/accounts/{id}/getOrders`, `/users/{id}/set_default`."""
    first, rest = words[0], "_".join(words[1:])
    noun = singular(next(step.literal for step in reversed(chain.steps) if step.literal))
    is_same = singular(rest) == noun or noun.endswith(f"_{singular(rest)}")
    if is_same and plain_verb(first) in TRANSITIONS:
        return _action(chain, plain_verb(first))
    if is_same and first in RPC_WORDS:
        return _same_noun(chain, RPC_WORDS[first], "_".join(words))
    if words[-1] == "search" and not _is_item(chain) and chain.method in ("GET", "POST"):
        return replace(chain, act=Act.LIST)
    if first in ("get", "list", "fetch", "find") and chain.method == "GET":
        return replace(chain, steps=(*chain.steps, Step(rest)), act=Act.COLLECTION)
    is_verb = first in NEVER_NOUNS or first in ACTIONS or first in TRANSITIONS
    if not is_verb or (is_plural(rest) and (first not in SURE_VERBS or chain.method == "GET")):
        return None
    if _is_item(chain) and chain.method in _WRITING and first not in BULK_WORDS:
        return replace(chain, act=Act.ACTION, verb="_".join(words))
    raise UnreadOperationError("verb_in_path", "_".join(words))


def _same_noun(chain: Chain, act: Act, literal: str) -> Chain:
    if _is_item(chain) and act in (Act.LIST, Act.CREATE, Act.COUNT):
        raise UnreadOperationError("verb_in_path", literal)
    if act not in (Act.LIST, Act.GET, Act.COUNT) and chain.method == "GET":
        raise UnreadOperationError("verb_in_path", literal)
    is_plain = (chain.method, act) in _STANDARD and _is_item(chain)
    return replace(chain, act=Act.ITEM if is_plain else act)


def parameters_of(steps: tuple[Step, ...]) -> Iterator[str]:
    """Names of the path's parameters that its steps hold."""
    return (step.parameter for step in steps if step.parameter is not None)
