"""Findings: one sentence per table, computed from its figures, whether or not the paper agrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from castlist.research.study.results import Spread
from castlist.research.study.tables import Group

#: Maximum number of methods that a sentence names; more are counted.
NAMED = 4


@dataclass(frozen=True)
class Entry:
    """One row of the summary.

    ``in_paper`` marks the losses that the paper compares, not fine-tuned.
    """

    title: str
    nmi: Spread
    count_error: Spread
    in_paper: bool = False
    is_ball: bool = False
    finetuned: bool = False


def joined(words: Sequence[str]) -> str:
    """Return words as "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def summary_finding(entries: Sequence[Entry], n_videos: int, compare: bool) -> str:
    """Return which method has the highest NMI, by how much, and whether the paper agrees."""
    as_is = [one for one in entries if not one.finetuned]
    tuned = [one for one in entries if one.finetuned]
    what = "NMI" if n_videos == 1 else f"mean NMI over {n_videos} videos"
    parts = []
    if as_is:
        parts.append(f"Highest {what}{', not fine-tuned' if tuned else ''}: {_lead(as_is)}")
    if tuned:
        parts.append(f"{'fine-tuned' if as_is else f'Highest {what}, fine-tuned'}: {_lead(tuned)}")
    least = min(round(one.count_error.mean, 1) for one in entries)
    nearest = [
        one.title + (", fine-tuned" if one.finetuned else "")
        for one in entries
        if round(one.count_error.mean, 1) == least
    ]
    words = f"Nearest to the true number of characters: {joined(nearest)} ({least:.1f} % off)."
    return " ".join(filter(None, (
        _sentence("; ".join(parts)), words, _against_paper(entries) if compare else "",
    )))  # fmt: skip


def _lead(entries: Sequence[Entry]) -> str:
    """Return the first and second method, and whether the gap is within the seeds' deviation."""
    ranked = sorted(entries, key=lambda one: -round(one.nmi.mean, 1))
    first = ranked[0]
    top = [one for one in ranked if _nmi(one) == _nmi(first)]
    text = f"{joined([one.title for one in top])} ({_nmi(first)})"
    if len(top) > 1 or len(ranked) == 1:
        return text
    second = ranked[1]
    gap = round(round(first.nmi.mean, 1) - round(second.nmi.mean, 1), 1)
    text += f", {gap:.1f} ahead of {second.title} ({_nmi(second)})"
    if gap <= max(first.nmi.deviation, second.nmi.deviation):
        text += ", which is no more than a standard deviation over seeds"
    return text


def _against_paper(entries: Sequence[Entry]) -> str:
    """Return whether BCL has a higher NMI than every other loss, as the paper claims."""
    balls = [one for one in entries if one.in_paper and one.is_ball]
    rivals = [one for one in entries if one.in_paper and not one.is_ball]
    if not balls or not rivals:
        return ""
    ball, rival = balls[0], max(rivals, key=lambda one: one.nmi.mean)
    ours, theirs = round(ball.nmi.mean, 1), round(rival.nmi.mean, 1)
    if ours > theirs:
        start, words = "As in the paper", "is ahead of all its other losses, the next being"
    else:
        start, words = "Unlike in the paper", "is behind" if ours < theirs else "is level with"
    return f"{start}, {ball.title} ({_nmi(ball)}) {words} {rival.title} ({_nmi(rival)})."


def wins_finding(groups: Mapping[str, Group], names: Mapping[str, str], n_columns: int) -> str:
    """Return which method is best in how many columns.

    Parameters
    ----------
    groups : mapping
        Method → its rows, with the best cells marked.
    names : mapping
        Label of a row → words for the best of it.
    """
    parts = []
    for label, name in names.items():
        wins = {
            method: sum(cell.best for row in group.rows if row.label == label for cell in row.cells)
            for method, group in groups.items()
        }
        ranked = sorted((one for one in wins.items() if one[1]), key=lambda one: -one[1])
        if ranked and n_columns == 1:
            parts.append(f"{name}: {joined([method for method, _ in ranked])}")
        elif ranked:
            (first, n), *others = ranked
            words = [f"{first} in {n} of {n_columns} columns"]
            words += [f"{method} in {n}" for method, n in others[:NAMED]]
            words += [f"{len(others) - NAMED} more in fewer"] * (len(others) > NAMED)
            parts.append(f"{name}: {joined(words)}")
    return _sentence("; ".join(parts))


def change_finding(what: str, pairs: Mapping[str, tuple[Spread | None, Spread | None]]) -> str:
    """Return which methods' mean NMI a change raises, lowers or keeps.

    Parameters
    ----------
    what : str
        The change, as the subject of the sentence.
    pairs : mapping
        Method → NMI before and after.
    """
    changes: dict[str, list[tuple[float, str]]] = {"raises": [], "lowers": [], "keeps": []}
    for method, (before, after) in pairs.items():
        if before is not None and after is not None:
            old, new = round(before.mean, 1), round(after.mean, 1)
            word = "raises" if new > old else "lowers" if new < old else "keeps"
            figures = f"{old:.1f}" if new == old else f"{old:.1f} to {new:.1f}"
            changes[word].append((abs(new - old), f"{method} ({figures})"))
    parts: list[str] = []
    for word, found in changes.items():
        ranked = [text for _, text in sorted(found, key=lambda one: -one[0])]
        which = joined(ranked)
        if len(ranked) > NAMED:
            which = f"{len(ranked)} methods"
            which += f", most that of {ranked[0]}" if word != "keeps" else ""
        if ranked:
            parts.append(f"{word} {'that' if parts else 'the mean NMI'} of {which}")
    return _sentence(f"{what} {' and '.join(parts)}") if parts else ""


def count_finding(of: Mapping[str, tuple[Spread, Spread]]) -> str:
    """Return the number of clusters per character, and NMI.

    Parameters
    ----------
    of : mapping
        Method → #Cl / #Ch, and NMI.
    """
    return _sentence("; ".join(
        f"{name}: {ratio.mean:.1f} clusters per character, mean NMI {nmi.mean:.1f}"
        for name, (ratio, nmi) in of.items()
    ))  # fmt: skip


def variants_finding(
    own: Mapping[str, Spread], variants: Mapping[str, Mapping[str, Spread]]
) -> str:
    """Return for which methods their own τ has a higher NMI than every variant of K-means.

    Parameters
    ----------
    own : mapping
        Method → NMI with its own τ.
    variants : mapping
        Method → variant → NMI.
    """
    better: list[str] = []
    worse: list[str] = []
    for method, found in variants.items():
        if method in own and found:
            variant = max(found, key=lambda name: found[name].mean)
            ours, theirs = round(own[method].mean, 1), round(found[variant].mean, 1)
            text = f"{method} ({ours:.1f}, {variant} {theirs:.1f})"
            (better if ours > theirs else worse).append(text)
    parts = [f"The method's own τ has the higher mean NMI on {joined(better)}"] if better else []
    parts += [f"{'not' if better else 'Its own τ is not better'} on {joined(worse)}"] * bool(worse)
    return _sentence(", ".join(parts))


def best_finding(values: Mapping[str, Spread], what: str = "NMI") -> str:
    """Return where a figure is highest and lowest."""
    if not values:
        return ""
    ranked = sorted(values.items(), key=lambda one: -round(one[1].mean, 1))
    (best, high), (worst, low) = ranked[0], ranked[-1]
    if f"{high.mean:.1f}" == f"{low.mean:.1f}":
        return f"{what} {high.mean:.1f}" + (" in every row." if len(ranked) > 1 else ".")
    return f"Highest {what} with {best} ({high.mean:.1f}), lowest with {worst} ({low.mean:.1f})."


def extremes_finding(n_characters: int, paper: int | None, values: Mapping[str, Spread]) -> str:
    """Return the number of characters, here and in the paper, and the NMI of each way."""
    there = f" (the paper: {paper})" if paper is not None else ""
    ranked = sorted(values.items(), key=lambda one: -one[1].mean)
    figures = joined([f"{name} {nmi.mean:.1f}" for name, nmi in ranked])
    return f"{n_characters} characters{there}. NMI: {figures}."


def seconds_finding(seconds: Mapping[str, float]) -> str:
    """Return the fastest loss, and the ratio of the slowest to it."""
    fast = min(seconds, key=lambda name: seconds[name])
    slow = max(seconds, key=lambda name: seconds[name])
    text = f"Fastest: {fast} ({seconds[fast]:.2f} s per epoch)"
    if seconds[fast] > 0 and seconds[slow] > seconds[fast]:
        text += f"; {slow} takes {seconds[slow] / seconds[fast]:.1f} times as long"
    return text + "."


def _sentence(text: str) -> str:
    return f"{text}." if text else ""


def _nmi(entry: Entry) -> str:
    return f"{entry.nmi.mean:.1f}"
