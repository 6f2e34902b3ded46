"""Where the references of a schema lead, and how much work they make for one value."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from environments.runtime.schema.keywords import MAX_EXPANDED, SAME_VALUE

LOCAL_REFERENCE = re.compile(r"#(/\$defs/([^/]+))?")


class References:
    """The $defs of a schema as a graph: what is missing, what never ends, what costs too much.

    A node is a definition ("" is the root). One step along "same" edges looks at the same value again; any other
    step looks at a part of it. A cycle of same edges never ends; a cycle that reaches itself twice for one part of a
    value doubles its work at each level.

    Attributes:
        expanded: How many schemas it has once every $ref is replaced; at most so many look at one value.
        problem: Fault code and message of the first thing wrong.
    """

    def __init__(self, schema: Any) -> None:
        root = schema if isinstance(schema, Mapping) else {}
        self._nodes: dict[str, Any] = {"": {key: value for key, value in root.items() if key != "$defs"}}
        self._nodes.update((f"/{name}", entry) for name, entry in root.get("$defs", {}).items())
        self.expanded = 1
        self.problem = self._find_problem()

    def _find_problem(self) -> tuple[str, str] | None:
        uses: dict[str, list[tuple[str, str]]] = {}
        sizes: dict[str, int] = {}
        for name, schema in self._nodes.items():
            uses[name], sizes[name] = [], 0
            for part, target in self._walk(schema):
                sizes[name] += 1
                if target is None:
                    continue
                if target not in self._nodes:
                    return "schema_reference_missing", f"nothing is at #/$defs{target[:80]}"
                uses[name].append((part, target))
        return self._cost_problem(uses, sizes)

    def _cost_problem(self, uses: dict[str, list[tuple[str, str]]], sizes: dict[str, int]) -> tuple[str, str] | None:
        costs: dict[str, int] = {}
        for group in _components({name: [target for _, target in found] for name, found in uses.items()}):
            inside = {name: [use for use in uses[name] if use[1] in group] for name in group}
            if any(inside.values()):
                problem = _recursion_problem(inside)
                if problem:
                    return problem
            # A recursive use costs again only for a part of the value, so it is paid for by the value's size.
            total = sum(sizes[name] for name in group) + sum(
                costs[target] for name in group for _, target in uses[name] if target not in group
            )
            if total > MAX_EXPANDED:
                return "schema_reference_cost", f"expanded, it has more than {MAX_EXPANDED} schemas"
            costs.update(dict.fromkeys(group, total))
        self.expanded = costs[""]
        return None

    @staticmethod
    def _walk(schema: Any) -> Iterator[tuple[str, str | None]]:
        """Each subschema: through which part of the value it is reached, and where its $ref goes."""
        stack: list[tuple[Any, str]] = [(schema, "")]
        while stack:
            item, part = stack.pop()
            if not isinstance(item, Mapping):
                yield part, None
                continue
            reference = LOCAL_REFERENCE.fullmatch(item["$ref"]) if "$ref" in item else None
            target = (reference.group(2) or "") if reference else None
            yield part, f"/{_unescape(target)}" if target else target
            for keyword, value in item.items():
                if keyword in SAME_VALUE:
                    stack.extend((entry, part) for entry in (value if isinstance(value, list | tuple) else [value]))
                elif keyword in {"items", "prefixItems"}:
                    stack.extend(
                        (entry, part or "items") for entry in (value if isinstance(value, list | tuple) else [value])
                    )
                elif keyword == "additionalProperties":
                    stack.append((value, part or "additional"))
                elif keyword == "properties":
                    stack.extend((entry, part or f"={name}") for name, entry in value.items())


def _unescape(name: str) -> str:
    return name.replace("~1", "/").replace("~0", "~")


def _recursion_problem(uses: dict[str, list[tuple[str, str]]]) -> tuple[str, str] | None:
    """What is wrong with definitions that all reach one another.

    Args:
        uses: By definition: through which part of the value it uses which of the others.
    """
    same = {name: [target for part, target in found if not part] for name, found in uses.items()}
    if any(len(group) > 1 or any(name in same[name] for name in group) for group in _components(same)):
        return "schema_reference_cycle", "a $ref comes back to itself with the same value"
    for name, found in uses.items():
        times = Counter(part for part, _ in found)
        named = max((count for part, count in times.items() if part.startswith("=")), default=0)
        if max(times["items"], times["additional"] + named) + times[""] > 1:
            what = name.removeprefix("/") or "#"
            return "schema_reference_cost", f"{what[:80]} looks at one value several times"
    return None


def _components(edges: dict[str, list[str]]) -> Iterator[set[str]]:
    """The strongly connected components, each after those it points to (Tarjan, without recursion)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: dict[str, None] = {}
    for start in edges:
        if start in order:
            continue
        path: list[tuple[str, Iterator[str]]] = [(start, iter(edges[start]))]
        order[start] = lowest[start] = len(order)
        open_nodes[start] = None
        while path:
            node, targets = path[-1]
            target = next(targets, None)
            if target is None:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    component: set[str] = set()
                    while node not in component:
                        component.add(open_nodes.popitem()[0])
                    yield component
            elif target not in order:
                order[target] = lowest[target] = len(order)
                open_nodes[target] = None
                path.append((target, iter(edges[target])))
            elif target in open_nodes:
                lowest[node] = min(lowest[node], order[target])
