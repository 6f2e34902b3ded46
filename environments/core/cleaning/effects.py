"""Whether an operation reads or writes, proposed from its method and words; only execution shows it."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from environments.core.embedding.lexical import split_words
from environments.core.sources.model import Effect, Operation

MAX_PARTS: Final = 3
"""Of a name, beside its last; those between are about the object."""

_READS: Final = frozenset({
    "get", "list", "search", "find", "query", "read", "fetch", "show", "view", "lookup", "browse", "describe",
    "count", "check", "validate", "verify", "test", "estimate", "preview", "calculate", "compute", "convert",
    "translate", "analyze", "analyse", "compare", "evaluate", "predict", "detect", "classify", "recommend", "suggest",
    "autocomplete", "retrieve", "select", "explore", "inspect", "peek", "has", "is", "exists", "filter", "batchget",
    "scan", "report", "download", "export", "geocode", "parse", "render", "resolve", "summarize", "summarise",
    "discover", "annotate", "contains",
})  # fmt: skip
_WRITES: Final = frozenset({
    "create", "add", "insert", "new", "make", "register", "deregister", "post", "put", "set", "update", "edit",
    "modify", "change", "patch", "replace", "rename", "move", "copy", "delete", "remove", "destroy", "drop", "clear",
    "purge", "reset", "send", "submit", "publish", "upload", "import", "ingest", "save", "store", "write", "append",
    "attach", "detach", "assign", "unassign", "link", "unlink", "enable", "disable", "activate", "deactivate", "start",
    "stop", "cancel", "close", "open", "reopen", "approve", "reject", "accept", "decline", "confirm", "book",
    "reserve", "order", "buy", "sell", "pay", "refund", "charge", "transfer", "withdraw", "deposit", "invite", "join",
    "leave", "subscribe", "unsubscribe", "follow", "unfollow", "like", "unlike", "archive", "unarchive", "restore",
    "lock", "unlock", "merge", "split", "mark", "tag", "untag", "schedule", "reschedule", "trigger", "run", "execute",
    "invoke", "grant", "revoke", "share", "reply", "forward", "block", "unblock", "mute", "unmute", "pause", "resume",
    "complete", "finish", "upsert", "associate", "disassociate", "provision", "terminate", "launch", "deploy", "sync",
    "rotate", "apply", "reboot", "restart", "redact", "return", "place", "commit", "generate",
    "regenerate", "refresh", "snooze", "sign", "upgrade", "downgrade", "migrate", "notify", "request", "dismiss",
})  # fmt: skip
_NOUNS: Final = frozenset({
    "list", "report", "test", "check", "count", "view", "filter", "query", "download", "export", "preview", "scan",
    "order", "book", "post", "tag", "link", "charge", "transfer", "share", "block", "mark", "schedule", "run", "set",
    "reply", "copy", "split", "store", "import", "change", "move", "patch", "lock", "merge", "register", "new", "open",
    "deposit", "refund", "update", "upload", "archive", "trigger", "sync", "provision", "return", "place", "commit",
    "complete", "reset", "invite", "like", "leave", "request", "sign", "notify",
})  # fmt: skip
"""Verbs that are as often what an operation is about: `order_search` searches, though `order_pizza` orders."""
_PAIRS: Final = frozenset({("check", "in"), ("check", "out"), ("log", "in"), ("log", "out"), ("opt", "in"),
                           ("opt", "out"), ("sign", "up")})  # fmt: skip
"""Two words that write together."""
_MANNERS: Final = frozenset({"batch", "bulk", "soft", "hard", "force", "async", "begin", "safe"})
"""How, not what: `batchGet`, `bulk_delete`, `beginCreate`."""
_ANSWERS: Final = frozenset({"returns", "provides", "gives"})
"""How a sentence begins that says what comes back; `return_order` is another matter."""
_METHOD_FIRST: Final = re.compile(r"^(get|post|put|patch|delete)[_ -]", re.IGNORECASE)


def propose_effect(operation: Operation) -> tuple[Effect, str]:
    """The effect and the rule that gave it.

    Safe methods of HTTP read and PUT, PATCH and DELETE write, whatever the words say. POST, tools without a method and
    addresses that name an action go by the verb of the name, then of the path's last part, then of the title and
    description; a source's own hint decides only where no verb does.

    Returns:
        The effect, and `method`, `name`, `path`, `title`, `description`, `hint` or nothing.
    """
    is_action = "#" in operation.path or "?action=" in operation.path.lower()
    if operation.method in ("GET", "HEAD", "OPTIONS", "TRACE") and not is_action:
        return Effect.READ, "method"
    if operation.method in ("PUT", "PATCH", "DELETE"):
        return Effect.WRITE, "method"
    last = operation.path.rstrip("/").rsplit("/", 1)[-1]
    for rule, effect in (
        ("name", _of_name(operation.name, operation.method)),
        ("path", _of_name("" if last.endswith("}") else last, "")),
        ("title", _of_sentence(operation.title)),
        ("description", _of_sentence(operation.description)),
    ):
        if effect is not None:
            return effect, rule
    if operation.hints.read_only is not None:
        return (Effect.READ if operation.hints.read_only else Effect.WRITE), "hint"
    return (Effect.WRITE, "method") if operation.method == "POST" else (Effect.UNKNOWN, "")


def _of_name(name: str, method: str) -> Effect | None:
    """Of names in every order: `getUser`, `users_list`, `Users_ListByGroup`, `projects.models.create`, `UserCreate`."""
    own = re.split(r"[./:#=]", name.rstrip("./:#="))[-1]
    if method and _METHOD_FIRST.match(own) and own[: len(method)].upper() == method:
        own = own[len(method) + 1 :]  # `POST_DescribeInstances`
    parts = [_without_manner(words) for words in map(split_words, re.split(r"[_\s-]+", own)) if words]
    parts = [words for words in [*parts[:MAX_PARTS], *parts[MAX_PARTS:][-1:]] if words]
    firsts = [words[0] for words in parts]
    if set(pairwise(word for words in parts for word in words)) & _PAIRS:
        return Effect.WRITE
    return _of_verbs([*firsts, *(words[-1] for words in parts if len(words) > 1)])


def _without_manner(words: list[str]) -> list[str]:
    return words[1:] if words[0] in _MANNERS else words


def _of_verbs(words: Sequence[str]) -> Effect | None:
    """By the first that is nothing but a verb, else by the first that may be one."""
    for is_noun in (False, True):
        for word in words:
            if (word in _NOUNS) == is_noun:
                if word in _READS:
                    return Effect.READ
                if word in _WRITES:
                    return Effect.WRITE
    return None


def _of_sentence(text: str) -> Effect | None:
    """By the word with which it begins, in either form: `Create an order`, `Creates an order`."""
    first = next(iter(split_words(text[:120])), "")
    if first in _ANSWERS:
        return Effect.READ
    for form in (first, first.removesuffix("s"), first.removesuffix("es"), f"{first.removesuffix('ies')}y"):
        if form in _READS:
            return Effect.READ
        if form in _WRITES:
            return Effect.WRITE
    return None
