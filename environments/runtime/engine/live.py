"""Everything of one episode that moves: state, clock, ids, counters, the pack's module."""

from collections.abc import Callable, Mapping
from typing import Any

from environments.runtime.engine.changes import TableShape
from environments.runtime.engine.context import Clock, Context, IdRule, Ids, canonical, digest
from environments.runtime.engine.database import Database
from environments.runtime.engine.program import ToolProgram
from environments.runtime.engine.source import Namespace, Source
from environments.runtime.engine.statements import StatementBook


class LiveState:
    """The moving parts of one episode, made anew by each reset but for the connection.

    Attributes:
        equal_calls: How many successful calls had the same tool and arguments, by the hash of both; kept only for tools
            that may draw from `ctx.rng`.
    """

    __slots__ = (
        "_book",
        "_image",
        "_namespace",
        "_pending_call",
        "_source",
        "clock",
        "context",
        "database",
        "equal_calls",
        "ids",
        "seed",
        "shapes",
    )

    def __init__(
        self,
        *,
        image: bytes,
        book: StatementBook,
        shapes: Mapping[str, TableShape],
        source: Source,
    ) -> None:
        self._image = image
        self._book = book
        self.shapes = shapes
        self._source = source
        self._namespace: Namespace | None = None
        self._pending_call: str | None = None
        self.database = Database(image, book, shapes)

    def start(self, *, rules: Mapping[str, IdRule], clock: Clock, seed: int, id_offset: int) -> None:
        """The start of an episode over the base image."""
        self.seed = seed
        self.clock = clock
        self.ids = Ids(rules, seed, id_offset)
        self.equal_calls: dict[str, int] = {}
        self.refresh_context()
        self._namespace = None
        self._pending_call = None

    def function(self, name: str) -> Callable[..., Any]:
        """A tool's function in this episode's own module; the first one executes the pack's code."""
        if self._namespace is None:
            self._namespace = self._source.new_namespace()
        return self._source.function(self._namespace, name)

    def chance_seed(self, program: ToolProgram, bound: Mapping[str, Any]) -> tuple[Any, ...]:
        """What `ctx.rng` is seeded by in this call; arguments have their defaults, absent ones are null."""
        tool = program.tool.name
        if tool not in self._source.drawing:
            return ()
        arguments = canonical({json_name: bound[name] for json_name, name, _, _ in program.parameters}).decode()
        key = digest(tool, arguments).hex()
        self._pending_call = key
        return self.seed, tool, arguments, self.equal_calls.get(key, 0)

    def release(self) -> None:
        """Keeps what the running call changed."""
        self.database.release()
        self.ids.keep()
        if self._pending_call is not None:
            self.equal_calls[self._pending_call] = self.equal_calls.get(self._pending_call, 0) + 1
            self._pending_call = None

    def roll_back(self) -> None:
        """Undoes what the running call changed; the state itself may be lost afterwards."""
        self._pending_call = None
        self.ids.take_back()
        self.database.roll_back()

    def reopen(self) -> None:
        """A new connection over the base image, without history; the old state is gone."""
        self.database.close()
        self.database = Database(self._image, self._book, self.shapes)
        self.refresh_context()

    def refresh_context(self) -> None:
        """Shows tools the present database, ids and clock."""
        self.context = Context(self.database, self.ids, self.clock)

    def close(self) -> None:
        """Frees the state."""
        self.database.close()
