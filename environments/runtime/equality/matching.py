"""Perfect bipartite matching by augmenting paths.

Reference: J. E. Hopcroft, R. M. Karp, "An n^5/2 algorithm for maximum matchings in bipartite graphs", SIAM Journal on
    Computing 2(4), 1973, section 2 (a matching is maximum if and only if no augmenting path exists).
Differs: one shortest path at a time instead of a maximal set of them, since nearly every pair is found by equality.
"""

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence


def match_all(
    lefts: Sequence[int],
    rights: Sequence[int],
    colour_of: Callable[[int], Hashable],
    are_alike: Callable[[int, int], bool],
    known: dict[int, int],
) -> list[tuple[int, int]] | None:
    """A perfect matching of two equally long lists, or None where there is none.

    Args:
        lefts: One side.
        rights: The other side.
        colour_of: Items of one colour are alike without asking; such pairs come first.
        are_alike: Whether a left and a right item may be paired.
        known: Partners of left items in an earlier matching under the same rule, tried before others; the matching
            found is added to it.
    """
    by_colour: dict[Hashable, list[int]] = {}
    for right in reversed(rights):
        by_colour.setdefault(colour_of(right), []).append(right)
    partner: dict[int, int] = {}
    owner: dict[int, int] = {}
    for left in lefts:
        equals = by_colour.get(colour_of(left))
        if equals:
            partner[left] = equals.pop()
            owner[partner[left]] = left
    free = {right: None for right in rights if right not in owner}
    for left in lefts:
        if left not in partner and known.get(left) in free:
            partner[left] = known[left]
            owner[known[left]] = left
            del free[known[left]]
    for left in lefts:
        if left in partner:
            continue
        path = _find_path(left, free, are_alike, owner)
        if not path:
            return None
        del free[path[-1][1]]
        for item, right in path:
            partner[item], owner[right] = right, item
    known.update(partner)
    return [(left, partner[left]) for left in lefts]


def _find_path(
    left: int, free: Mapping[int, None], are_alike: Callable[[int, int], bool], owner: Mapping[int, int]
) -> list[tuple[int, int]]:
    """The new pairs of a shortest path that starts at a left item and ends at a free right one; empty if none."""
    direct = next((right for right in free if are_alike(left, right)), None)
    if direct is not None:
        return [(left, direct)]
    came_from: dict[int, int] = {}
    gives_up: dict[int, int] = {}  # left item -> the right item it is to give up
    unseen = dict.fromkeys(owner)
    queue = deque([left])
    while queue:
        current = queue.popleft()
        end = None
        if current != left:
            end = next((right for right in free if are_alike(current, right)), None)
        if end is not None:
            path = [(current, end)]
            while current != left:
                right = gives_up[current]
                current = came_from[right]
                path.insert(0, (current, right))
            return path
        for right in [right for right in unseen if are_alike(current, right)]:
            del unseen[right]
            came_from[right] = current
            gives_up[owner[right]] = right
            queue.append(owner[right])
    return []
