"""Conventions of the large families of APIs, as data: what else would be special cases in code."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from environments.core.compile.reading.vocabulary import words
from environments.core.sources.model import Location, Operation, Schema, named, success_response

MARKED_RATIO: Final = 0.3
"""Of the operations of a document: from there on a family is known by its marks, whoever provides it."""
LOOKED_AT: Final = 400
"""Operations that are looked at for marks."""


class Naming(StrEnum):
    """Where an operation's resource is named."""

    PATH = "path"
    OPERATION_NAME = "operation_name"
    """Paths hold whole resource names (`/v1/{name}`); the operation's name says which: `pubsub.projects.topics.get`."""
    VERB_NAME = "verb_name"
    """Operations are called verb and noun (`CreateTopic`), and that says more than method and path."""


class KeyStyle(StrEnum):
    """What keys of a family look like, where no example says it."""

    PLAIN = "plain"
    UUID = "uuid"
    NAME = "name"
    """Callers choose it."""
    RESOURCE_NAME = "resource_name"
    """`projects/acme/topics/t1`: parents are inside."""
    PREFIXED = "prefixed"
    """`cus_9s6XKzkNRiz8i3`."""
    SID = "sid"
    """Two letters and 32 hexadecimal digits."""
    DIGITS = "digits"
    """Text of digits."""


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """Operations that a family is known to have and that are never about a row.

    Attributes:
        pattern: Searched for in an operation's `KEY NAME`: `GET /x/{id} getX`.
        reason: Code of `READING_REASONS`.
    """

    pattern: str
    reason: str


@dataclass(frozen=True, slots=True)
class Family:
    """How the APIs of a family are to be read.

    Attributes:
        name: Stable: `azure`, `plain`.
        providers: Registrable names of those that follow it.
        path_marks: Patterns of paths by which it is known elsewhere.
        parameter_marks: Patterns of query parameters by which it is known elsewhere.
        media_marks: Parts of media types by which it is known elsewhere.
        answer_marks: Members of an answer that together make it known.
        row_marks: Members of what an answer holds under `data`, or of its items, that together make it known.
        naming: Where resources are named.
        promoted: Members whose own members belong to the row.
        wrappers: Members that hold the whole body, or the whole answer, as the only thing that counts.
        path_noise: Literals in snake case that name no resource, wherever they stand.
        noise: Inputs (squashed) that are about transport or presentation, besides the ones that all have.
        body_noise: Members of bodies and rows (squashed) that say only what kind of thing it is.
        post_updates: Whether POST on an item changes it.
        post_acts: Whether POST behind an item's literal is always a verb (ARM creates by PUT only).
        empty_answers: Pattern of the names of definitions that only say that all is well.
        key_style: What keys look like.
        decorations: Patterns of parameter names that stand for a column and an operator; groups `column` and,
            optionally, `operator`.
        leave_out: Operations to leave out.
    """

    name: str
    providers: frozenset[str] = frozenset()
    path_marks: tuple[str, ...] = ()
    parameter_marks: tuple[str, ...] = ()
    media_marks: tuple[str, ...] = ()
    answer_marks: frozenset[str] = frozenset()
    row_marks: frozenset[str] = frozenset()
    naming: Naming = Naming.PATH
    promoted: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    path_noise: frozenset[str] = frozenset()
    noise: frozenset[str] = frozenset()
    body_noise: frozenset[str] = frozenset()
    post_updates: bool = False
    post_acts: bool = False
    empty_answers: str = ""
    key_style: KeyStyle = KeyStyle.PLAIN
    decorations: tuple[str, ...] = ()
    leave_out: tuple[LeaveOut, ...] = field(default=(), repr=False)


_BRACKETS: Final = (
    r"(?:filter|filters|where|q|search|params)\[(?P<column>[\w.\-]+)\](?:\[\]|\[(?P<operator>\w+)\])?",
    r"(?P<column>[\w.\-]+)\[(?P<operator>gte?|lte?|eq|in|min|max|from|to|after|before|start|end|since|until)\](?:\[\])?",
    r"(?P<column>[\w.\-]+)\[\]",
    r"filter[._](?P<column>[A-Za-z]\w*)",
)
_DOUBLE_UNDERSCORE: Final = (
    r"(?P<column>\w+?)__(?P<operator>gte?|lte?|in|exact|iexact|range|min|max|before|after|i?contains|i?startswith)"
)
_ACCESS_POLICY: Final = LeaveOut(r"(?i)(get|set|test)_?iam_?(policy|permissions)", "access_policy")

_AZURE: Final = Family(
    name="azure",
    providers=frozenset({"azure.com"}),
    path_marks=(r"/providers/Microsoft\.",),
    promoted=frozenset({"properties"}),
    noise=words("apiversion clientrequestid returnclientrequestid ocpdate xmsclientrequestid"),
    post_acts=True,
    key_style=KeyStyle.NAME,
    leave_out=(
        LeaveOut(r"(?i)^GET \S*/operations operations?_list", "api_operations_list"),
        LeaveOut(r"(?i)^GET (/providers/[\w.]+)?/operations ", "api_operations_list"),
    ),
)
_GRAPH: Final = Family(
    name="graph",
    path_marks=(r"/microsoft\.graph\.", r"/\{[a-zA-Z]+-id\d?\}"),
    noise=words("expand select format"),
    body_noise=words("odatatype odataid odataetag odatacontext"),
    key_style=KeyStyle.UUID,
)
_GOOGLE: Final = Family(
    name="google",
    providers=frozenset({"googleapis.com"}),
    path_marks=(r"^/v\d\w*/\{\+?(name|parent)\}",),
    naming=Naming.OPERATION_NAME,
    noise=words(
        "xgafv accesstoken alt callback fields key oauthtoken prettyprint quotauser uploadprotocol uploadtype userip"
        " requestid returnpartialsuccess"
    ),
    key_style=KeyStyle.RESOURCE_NAME,
    leave_out=(_ACCESS_POLICY,),
)
_AWS: Final = Family(
    name="aws",
    providers=frozenset({"amazonaws.com"}),
    path_marks=(r"#X-Amz-Target=",),
    naming=Naming.VERB_NAME,
    noise=words("action version xamztarget clienttoken clientrequesttoken dryrun"),
    body_noise=words("clienttoken clientrequesttoken clientrequestid dryrun idempotencytoken creatorrequestid"),
    key_style=KeyStyle.NAME,
    leave_out=(LeaveOut(r"^GET \S*#(\S*&)?Action=", "duplicate_of_post_form"),),
)
_TWILIO: Final = Family(
    name="twilio",
    providers=frozenset({"twilio.com"}),
    path_marks=(r"/Accounts/\{AccountSid\}/",),
    post_updates=True,
    key_style=KeyStyle.SID,
    decorations=(r"(?P<column>\w+)(?P<operator><|>|<=|>=)",),
)
_GITHUB: Final = Family(name="github", providers=frozenset({"github.com"}))
_STRIPE: Final = Family(
    name="stripe",
    providers=frozenset({"stripe.com"}),
    post_updates=True,
    noise=words("expand"),
    body_noise=words("expand"),
    key_style=KeyStyle.PREFIXED,
)
_JSON_API: Final = Family(
    name="jsonapi",
    providers=frozenset({"apple.com"}),
    media_marks=("vnd.api+json",),
    row_marks=frozenset({"type", "id", "attributes"}),
    promoted=frozenset({"attributes", "relationships"}),
    wrappers=frozenset({"data"}),
    noise=words("include exists"),
    body_noise=words("type links"),
    key_style=KeyStyle.UUID,
    leave_out=(LeaveOut(r"/relationships/", "relationship_object"),),
)
_ASANA: Final = Family(
    name="asana",
    providers=frozenset({"asana.com"}),
    wrappers=frozenset({"data"}),
    noise=words("optfields optpretty"),
    key_style=KeyStyle.DIGITS,
)
_KUBERNETES: Final = Family(
    name="kubernetes",
    providers=frozenset({"kubernetes.io"}),
    path_marks=(r"/namespaces/\{namespace\}/",),
    promoted=frozenset({"metadata"}),
    path_noise=frozenset({"apis"}),
    noise=words("allowwatchbookmarks watch resourceversion resourceversionmatch sendinitialevents"),
    body_noise=words("kind apiversion managedfields"),
    empty_answers=r"\bmeta\.v1\.Status$",
    key_style=KeyStyle.NAME,
    leave_out=(
        LeaveOut(r"/watch/", "stream"),
        LeaveOut(
            r"/(status|scale|log|exec|attach|portforward|proxy|ephemeralcontainers|approval)( |/)", "sub_resource"
        ),
        LeaveOut(r"^\w+ /(\.well-known|apis?|logs|version|openid)(/[^/ {]+){0,2}/? ", "api_discovery"),
    ),
)
_DRF: Final = Family(
    name="drf",
    providers=frozenset({"netbox.dev", "netboxdemo.com"}),
    parameter_marks=(r"__(gte|lte|in|ic|gt|n|isw)$",),
    answer_marks=frozenset({"count", "next", "previous", "results"}),
    decorations=(_DOUBLE_UNDERSCORE,),
)
_VTEX: Final = Family(
    name="vtex",
    providers=frozenset({"vtex.local"}),
    path_marks=(r"/(pvt|pub)/",),
    path_noise=words("pvt pub catalog_system"),
    noise=words("an sc"),
    key_style=KeyStyle.DIGITS,
)
PLAIN: Final = Family(name="plain")
FAMILIES: Final[tuple[Family, ...]] = (
    _AZURE, _GRAPH, _GOOGLE, _AWS, _TWILIO, _GITHUB, _STRIPE, _JSON_API, _ASANA, _KUBERNETES, _DRF, _VTEX, PLAIN,
)  # fmt: skip
"""In the order in which their marks are looked for."""

DECORATIONS: Final = (*_BRACKETS, _DOUBLE_UNDERSCORE)
"""Of parameter names in every family."""


def family_named(name: str) -> Family:
    """The family of a name.

    Raises:
        KeyError: There is none.
    """
    for family in FAMILIES:
        if family.name == name:
            return family
    raise KeyError(name)


def family_of(
    provider: str, operations: Sequence[Operation], definitions: Mapping[str, Schema] | None = None
) -> Family:
    """The conventions that a document follows: those of its provider, else those whose marks most operations bear.

    Args:
        provider: Registrable name: `azure.com`.
        operations: Of one document.
        definitions: Its named schemas, for marks of answers.
    """
    marked: Counter[str] = Counter()
    looked_at = operations[:: max(1, len(operations) // LOOKED_AT)]
    for operation in looked_at:
        marked.update(_marks_of(operation, definitions or {}))
    for family in FAMILIES:
        # The most telling mark decides where one provider has APIs of two kinds: Microsoft Graph is not Azure.
        if provider in family.providers:
            return family
    for family in FAMILIES:
        if looked_at and marked[family.name] >= MARKED_RATIO * len(looked_at):
            return family
    return PLAIN


def _marks_of(operation: Operation, definitions: Mapping[str, Schema]) -> Iterator[str]:
    for family, paths, parameters in _MARKS:
        if _any_found(paths, (operation.path,)) or _any_found(
            parameters, (each.name for each in operation.parameters if each.location is Location.QUERY)
        ):
            yield family.name
        elif family.media_marks or family.answer_marks or family.row_marks:
            answer = success_response(operation)
            media = (answer.media_type or "") if answer is not None else ""
            if any(mark in media for mark in family.media_marks):
                yield family.name
            elif answer is not None and answer.schema is not None:
                members = named(answer.schema, definitions).get("properties", {})
                marks = ((family.answer_marks, members.keys()), (family.row_marks, _row_members(members, definitions)))
                if any(mark and mark <= names for mark, names in marks):
                    yield family.name


def _row_members(members: Mapping[str, Schema], definitions: Mapping[str, Schema]) -> frozenset[str]:
    """Names of the members of what stands under `data`."""
    data = named(members.get("data", {}), definitions)
    row = named(data["items"], definitions) if isinstance(data.get("items"), Mapping) else data
    return frozenset(row.get("properties", ()))


def _any_found(patterns: Iterable[re.Pattern[str]], texts: Iterable[str]) -> bool:
    listed = tuple(texts)
    return any(pattern.search(text) for pattern in patterns for text in listed)


_MARKS: Final = tuple(
    (family, tuple(map(re.compile, family.path_marks)), tuple(map(re.compile, family.parameter_marks)))
    for family in FAMILIES
)
