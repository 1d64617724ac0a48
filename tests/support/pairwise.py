"""Few rows in which every two values of every two parameters meet once: what two settings do to each other shows, without a product."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any

Row = dict[str, Any]
Pair = frozenset[tuple[str, int]]


def covering_rows(
    parameters: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool] = lambda _: True
) -> list[Row]:
    """Rows with one value for each parameter. `allowed` judges partial rows too; pairs that it forbids need not be covered.

    Greedy and deterministic: each row begins with a pair that nobody covers yet, and grows by the value that covers most.
    """
    names = list(parameters)
    waiting: dict[Pair, None] = dict.fromkeys(
        pair
        for one, other in combinations(names, 2)
        for i in range(len(parameters[one]))
        for j in range(len(parameters[other]))
        for pair in [frozenset({(one, i), (other, j)})]
        if allowed(_row(pair, parameters))
    )
    rows: list[Row] = []
    while waiting:
        chosen = dict(next(iter(waiting)))
        for name in names:
            if name not in chosen:
                chosen[name] = _best(name, chosen, waiting, (parameters, allowed))
        covered = {frozenset(pair) for pair in combinations(chosen.items(), 2)}
        left = {pair: None for pair in waiting if pair not in covered}
        assert len(left) < len(waiting), f"no row holds {sorted(next(iter(waiting)))}"
        waiting = left
        rows.append({name: parameters[name][chosen[name]] for name in names})
    return rows


def _row(pair: Pair, parameters: Mapping[str, Sequence[Any]]) -> Row:
    return {name: parameters[name][index] for name, index in pair}


def _best(
    name: str,
    chosen: Mapping[str, int],
    waiting: Mapping[Pair, None],
    space: tuple[Mapping[str, Sequence[Any]], Callable[[Row], bool]],
) -> int:
    parameters, allowed = space
    row = {one: parameters[one][index] for one, index in chosen.items()}
    possible = [i for i, value in enumerate(parameters[name]) if allowed({**row, name: value})]
    assert possible, f"no value of {name} is allowed beside {row}"
    return max(possible, key=lambda i: (sum(frozenset({(name, i), item}) in waiting for item in chosen.items()), -i))


def missing_pairs(
    rows: Sequence[Row], parameters: Mapping[str, Sequence[Hashable]], allowed: Callable[[Row], bool] = lambda _: True
) -> list[tuple[tuple[str, Any], tuple[str, Any]]]:
    """Pairs that no row holds: empty for a covering set."""
    met = {pair for row in rows for pair in combinations(row.items(), 2)}
    return [
        ((one, a), (other, b))
        for one, other in combinations(parameters, 2)
        for a in parameters[one]
        for b in parameters[other]
        if allowed({one: a, other: b}) and ((one, a), (other, b)) not in met
    ]
