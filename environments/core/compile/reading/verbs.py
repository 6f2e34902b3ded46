"""Word tables of verbs: what a word in a path or in an operation's name says that it does. Words are in snake case."""

import re
from collections.abc import Mapping
from typing import Final

from environments.core.compile.reading.calls import Act
from environments.core.compile.reading.vocabulary import words

VERB_FORMS: Final[Mapping[str, str]] = {
    "activation": "activate", "archived": "archive", "cancelation": "cancel", "cancellation": "cancel",
    "canceled": "cancel", "cancelled": "cancel", "complete_order": "complete", "deny": "reject", "finalise": "finalize",
    "fulfil": "fulfill", "markaspaid": "pay", "mark_as_paid": "pay", "mark_paid": "pay", "mark_as_done": "complete",
    "mark_as_complete": "complete", "mark_complete": "complete", "mark_completed": "complete", "mark_as_completed":
    "complete", "mark_as_void": "void", "mark_as_resolved": "resolve", "mark_as_spam": "", "power_off": "stop",
    "power_on": "start", "poweroff": "stop", "poweron": "start", "shutdown": "stop", "turn_off": "stop", "turn_on":
    "start", "voided": "void", "un_archive": "unarchive", "re_open": "reopen", "soft_delete": "trash", "dearchive":
    "unarchive", "begin": "start", "halt": "stop", "continue": "resume", "untrash": "restore", "quash": "void",
}  # fmt: skip
"""The plain verb of other forms; empty for one that only looks like a verb."""

CRUD_WORDS: Final[Mapping[str, Act]] = {
    "list": Act.LIST, "search": Act.LIST, "query": Act.LIST, "find": Act.LIST, "all": Act.LIST, "filter": Act.LIST,
    "browse": Act.LIST, "index": Act.LIST, "paged": Act.LIST, "lookup": Act.LIST, "find_all": Act.LIST,
    "get_all": Act.LIST, "list_all": Act.LIST, "getall": Act.LIST, "pagedlist": Act.LIST, "getlist": Act.LIST,
    "get_list": Act.LIST, "advanced_search": Act.LIST,
    "count": Act.COUNT, "get_count": Act.COUNT, "query_count": Act.COUNT,
    "create": Act.CREATE, "add": Act.CREATE, "insert": Act.CREATE, "new": Act.CREATE,
    "get": Act.GET, "show": Act.GET, "read": Act.GET, "fetch": Act.GET, "retrieve": Act.GET,
    "update": Act.UPDATE, "edit": Act.UPDATE, "modify": Act.UPDATE, "patch": Act.UPDATE,
    "delete": Act.DELETE, "remove": Act.DELETE, "destroy": Act.DELETE, "replace": Act.REPLACE,
}  # fmt: skip
"""The last part of a path that is a verb of its own."""

RPC_WORDS: Final[Mapping[str, Act]] = {
    "list": Act.LIST, "search": Act.LIST, "query": Act.LIST, "find": Act.LIST, "enumerate": Act.LIST,
    "browse": Act.LIST,
    "count": Act.COUNT,
    "get": Act.GET, "describe": Act.GET, "read": Act.GET, "retrieve": Act.GET, "fetch": Act.GET, "show": Act.GET,
    "lookup": Act.GET, "info": Act.GET, "view": Act.GET, "load": Act.GET,
    "create": Act.CREATE, "add": Act.CREATE, "insert": Act.CREATE, "register": Act.CREATE, "new": Act.CREATE,
    "update": Act.UPDATE, "modify": Act.UPDATE, "edit": Act.UPDATE, "set": Act.UPDATE, "change": Act.UPDATE,
    "patch": Act.UPDATE,
    "put": Act.REPLACE, "upsert": Act.REPLACE, "replace": Act.REPLACE, "save": Act.REPLACE,
    "delete": Act.DELETE, "remove": Act.DELETE, "destroy": Act.DELETE, "deregister": Act.DELETE,
    "unregister": Act.DELETE,
}  # fmt: skip
"""The first (or last) word of an operation's name."""

PAIR_WORDS: Final[Mapping[str, Act]] = {
    "add": Act.ADD, "associate": Act.ADD, "attach": Act.ADD, "assign": Act.ADD, "link": Act.ADD, "join": Act.ADD,
    "bind": Act.ADD, "register": Act.ADD, "grant": Act.ADD,
    "remove": Act.REMOVE, "disassociate": Act.REMOVE, "dissociate": Act.REMOVE, "detach": Act.REMOVE,
    "unassign": Act.REMOVE, "unlink": Act.REMOVE, "unbind": Act.REMOVE, "deregister": Act.REMOVE, "delete": Act.REMOVE,
}  # fmt: skip
"""Verbs that make or break a pair, where the name says of what: `add_member_to_group`."""
PAIR_ALONE: Final = words("associate attach assign disassociate dissociate detach unassign link unlink bind unbind")
"""Those that do so even where the name doesn't say of what."""
PAIR_PREPOSITIONS: Final = frozenset({"to", "with", "from"})
RELATION_PREPOSITIONS: Final = frozenset({"for", "by", "in", "of", "from", "with", "to", "on", "using", "within", "at"})

ACTIONS: Final = words(
    "acquire adjust allocate analyze apply assess authorize backup batch book bulk calculate charge check claim"
    " clear clone collect commit compare compile compute consume convert copy create_or_update credit debit"
    " deliver deploy deposit detect download drain duplicate echo email encode encrypt decrypt decrease increase"
    " reduce estimate evaluate exchange execute export extend extract failover flush follow force forward generate"
    " import increment initialize initiate install invite invoke issue join kick leave lease like list_keys login"
    " logout mark mark_as_read mark_read match merge migrate move notify parse ping poll post prepare"
    " preview print process promote provision purge push quote rate read_receipt reassign reboot"
    " rebuild recalculate receive recover redeem redeploy refresh refund regenerate regenerate_key register"
    " release reload rename renew render reorder repair replay reply report request rerun resend reserve reset"
    " resize restart retry return reveal review rollback rotate run sample save scale scan schedule seal send set"
    " share sign simulate snapshot sort split subscribe swap sync synchronize tag test toggle track train transfer"
    " transform translate trigger unassign undo unfollow uninstall unlike unlink unregister unshare unsubscribe"
    " untag update_status upgrade upload upsert validate vote wake watch withdraw write"
)
"""Verbs that change something, or compute, but lead to no state that their name tells."""

NOUNS_TOO: Final = words(
    "charge credit deposit issue lease message quote release report request review schedule set snapshot track"
)
"""Of those, the ones that are nouns where they are read."""
NEVER_NOUNS: Final = words(
    "batch bulk calculate check compute convert download estimate evaluate execute export generate import invoke"
    " predict preview render simulate sync test translate upload validate verify apply assign attach detach"
    " reassign regenerate reset resend retry send set unassign move copy clone merge rename reorder mark toggle"
    " enable disable activate deactivate is has can should get list create update delete add remove fetch find"
    " search query describe put run rotate trigger submit cancel suspend resume start stop"
)
"""First words of longer literals that make them a verb: `check_name_availability`, `set_default`; where the last word
is a plural (`test_cases`, `start_times`) they may be nouns still."""

SURE_VERBS: Final = words(
    "add calculate compute convert create delete describe disable enable evaluate execute fetch find generate get"
    " invoke list modify predict put regenerate remove resend retrieve set unassign update deactivate activate is"
    " has can"
)
"""Of those, the ones that are verbs before a plural, too."""

FILLERS: Final = frozenset(
    {"a", "an", "the", "all", "my", "single", "specific", "current", "multiple", "existing", "new"}
)
"""Words of a name between verb and noun that say nothing of the noun."""
VIEW_WORDS: Final = words("details detail info information data list record records entity entities")
"""Last words of a name that say nothing of the noun, where something is left without them."""
GROUP_WORDS: Final = frozenset({"lifecycle", "actions", "action", "transitions", "transition", "command", "commands"})
"""Literals that only gather the verbs behind them."""
BULK_WORDS: Final = frozenset({"batch", "bulk", "multi", "mass"})
"""First words of operations on many things at once."""
VERSION_WORD: Final = re.compile(r"v\d+")
LOOKUP_LITERAL: Final = re.compile(
    r"(?:(?P<verb>find|get|search|list|fetch|lookup|query|filter|read)_)?by_(?P<name>\w+)"
)
"""A literal that says by what rows are looked up: `by_slug`, `find_by_status`."""
