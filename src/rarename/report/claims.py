"""What the paper claims, and what the results say of it: every number and every verdict is computed from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rarename.report.document import p_text, percent, points, quoted_names
from rarename.report.paper import cosines, paper_study
from rarename.report.results import Result, number_at
from rarename.report.statistics import holm
from rarename.report.studies import LANGUAGES, OF_TYPES, Score, Series, Study
from rarename.report.tables import Compared, compared

HOLDS, FAILS, PARTLY, OPEN, ABSENT = "holds", "does not hold", "holds in part", "undecided", "not measured"

LEVEL = 0.05
"""A p below it, corrected for the sizes looked at, counts as shown."""

MARGIN = 0.01
"""Two scores are as good as the same within one point: two of the paper's own standard deviations."""

LARGE = 50_000
"""The paper compares its largest vocabulary of `standard` with this one; up to it, a larger one helped there too."""


@dataclass(frozen=True)
class Finding:
    """What one study says of a claim."""

    study: str
    experiment: str
    verdict: str
    text: str


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, with what was found; nothing, if no study has the cells for it."""

    name: str
    """In a few words."""
    text: str
    findings: tuple[Finding, ...]


def claims(studies: Sequence[Study], embeddings: Sequence[Result]) -> list[Claim]:
    """All claims, in the order of the paper."""
    return [
        Claim(
            "anonymization against standard",
            "Anonymization of rare names is substantially better than `standard`, at every vocabulary size."
            + _paper_gain("ordered", "standard"),
            _each(studies, _beats_standard),
        ),
        Claim(
            "ordered against randomized",
            "`ordered` is slightly better than `randomized`, or as good." + _paper_gain("ordered", "randomized"),
            _each(studies, _slightly_better),
        ),
        Claim(
            "numbering by frequency",
            "Numbering by frequency is as good as `ordered`.",
            _each(studies, lambda study: _pair(study, "by_frequency", "ordered", _same)),
        ),
        Claim(
            "full anonymization",
            "Anonymizing all names is worse than anonymizing the rare ones." + _paper_full(),
            _each(studies, _full_is_worse),
        ),
        Claim(
            "a larger vocabulary for standard",
            "For `standard` the largest vocabulary is worse than one of 50,000 names." + _paper_largest(),
            _each(studies, _larger_vocabulary),
        ),
        Claim(
            "anonymization against a pointer",
            "Anonymization is better than a pointer for almost all vocabulary sizes."
            + _paper_gain("ordered", "standard + pointer"),
            _each(studies, lambda study: _pair(study, "ordered", "standard + pointer", _better)),
        ),
        Claim(
            "pointer and anonymization together",
            "A pointer and anonymization together are no better than the better of the two.", _each(studies, _combined)
        ),
        Claim(
            "more placeholders than needed",
            "More placeholders than needed make no difference in variable misuse and cost a little in completion."
            + _paper_placeholders(),
            _each(studies, _placeholders),
        ),
        Claim("types of nodes",
            "Types of nodes are predicted better with anonymization, too.", _each(studies, _types, OF_TYPES)),
        Claim(
            "where placeholders lie",
            "Placeholders lie apart from the names of the vocabulary in the space of embeddings."
            + _paper_embeddings(),
            tuple(finding for result in embeddings if (finding := _apart(result))),
        ),
    ]  # fmt: skip


def _each(
    studies: Sequence[Study], look: Callable[[Study], Finding | None], score: Score | None = None
) -> tuple[Finding, ...]:
    return tuple(_weighed(finding, study, score) for study in studies if (finding := look(study)) is not None)


def _weighed(finding: Finding, study: Study, score: Score | None) -> Finding:
    """With one seed a test compares two models, whatever made them different: their luck must be known from others."""
    if finding.verdict == ABSENT or study.own_luck(score):
        return finding
    if lenders := study.lenders(score):
        return replace(finding, text=f"{finding.text}. One training each; its luck is that of {quoted_names(lenders)}")
    shown = "" if finding.verdict == OPEN else f"; of these models alone it {finding.verdict}"
    return replace(finding, verdict=OPEN, text=f"{finding.text}. One training each, and its luck is not known{shown}")


def _name(study: Study) -> str:
    return f"{study.name} (`{study.experiment}`)"


def _at_sizes(study: Study, first: Series, second: Series, score: Score | None = None) -> list[Compared]:
    """Cell by cell; what a larger study has of the very same models is told there."""
    cells = [((first, size), (second, size)) for size in study.sizes]
    found = [compared(study, *pair, score) for pair in cells if not study.is_repeated(*pair)]
    return [each for each in found if each is not None]


def _told(found: Sequence[Compared]) -> str:
    """The differences, size by size, with the p that verdicts are made by."""
    parts = []
    ps = _p_values(found)
    all_sure = len(found) > 1 and all(each.test and p < 0.001 for each, p in zip(found, ps, strict=True))
    for each, p in zip(found, ps, strict=True):
        test = f" (p {p_text(p)})" if each.test and not all_sure else ""
        parts.append(f"{points(each.difference)} {_at(each.first_size)}{test}")
    untested = "" if all(each.test for each in found) else "; without scores by project there is no test"
    return ", ".join(parts) + (" (p < 0.001 each)" if all_sure else untested)


def _at(size: int) -> str:
    return f"at {size:,}" if size else "without a vocabulary"


def _p_values(found: Sequence[Compared]) -> list[float]:
    """Corrected for looking at several sizes; 1 where there is no test."""
    corrected = iter(holm([each.test.p for each in found if each.test]))
    return [next(corrected) if each.test else 1.0 for each in found]


def _better(found: Sequence[Compared]) -> str:
    """Is the first better, at all of these?"""
    shown = [each.difference > 0 for each, p in zip(found, _p_values(found), strict=True) if p < LEVEL]
    if len(shown) == len(found) and all(shown):
        return HOLDS
    return PARTLY if any(shown) else FAILS if shown else OPEN


def _same(found: Sequence[Compared]) -> str:
    """Are both as good as the same? Only an interval within the margin shows it; no difference seen is not enough."""
    tests = [each.test for each in found if each.test]
    if len(tests) == len(found) and all(test.low > -MARGIN and test.high < MARGIN for test in tests):
        return HOLDS
    return FAILS if any(test.low > MARGIN or test.high < -MARGIN for test in tests) else OPEN


def _not_worse(found: Sequence[Compared]) -> str:
    """Is the first better or as good as the same?"""
    tests = [each.test for each in found if each.test]
    if len(tests) == len(found) and all(test.low > -MARGIN for test in tests):
        return HOLDS
    return FAILS if any(test.high < -MARGIN for test in tests) else OPEN


def _pair(study: Study, first: str, second: str, judge: Callable[[Sequence[Compared]], str]) -> Finding | None:
    found = _compared_pair(study, first, second)
    if not found:
        return None
    return Finding(_name(study), study.experiment, judge(found), f"`{first}` − `{second}`, points: {_told(found)}")


def _compared_pair(study: Study, first: str, second: str) -> list[Compared]:
    ours, others = study.find(first), study.find(second)
    return _at_sizes(study, ours, others) if ours and others else []


def _slightly_better(study: Study) -> Finding | None:
    """Is `ordered` better than `randomized`, or as good, but no further ahead than the paper has it?"""
    finding = _pair(study, "ordered", "randomized", _not_worse)
    if finding is None:
        return None
    gains = _gains(study.task, study.language, "ordered", "randomized")
    far = []
    for each in _compared_pair(study, "ordered", "randomized"):
        most = max((gain for size, gain in gains.items() if size > 0 or each.first_size == 0), default=0.0)
        if each.test and each.test.low > most + MARGIN:
            far.append(f"{_at(each.first_size)} (the paper: up to {points(most)})")
    if not far:
        return finding
    verdict = PARTLY if finding.verdict == HOLDS else finding.verdict
    return replace(finding, verdict=verdict, text=f"{finding.text}. Much better, not slightly, {', '.join(far)}")


def _beats_standard(study: Study) -> Finding | None:
    standard = study.find("standard")
    parts, verdicts = [], []
    for name in ("ordered", "randomized", "by_frequency"):
        series = study.find(name)
        found = _at_sizes(study, series, standard) if series and standard else []
        if found:
            parts.append(f"`{name}` − `standard`, points: {_told(found)}")
            verdicts.append(_better(found))
    if not parts:
        return None
    return Finding(_name(study), study.experiment, _together(verdicts), ". ".join(parts))


def _together(verdicts: Sequence[str]) -> str:
    """Of a claim about several strategies."""
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return PARTLY if {HOLDS, PARTLY} & set(verdicts) else FAILS if FAILS in verdicts else OPEN


def _larger_vocabulary(study: Study) -> Finding | None:
    standard = study.find("standard")
    curve = study.curve(standard) if standard else {}
    if standard is None or len(curve) < 2:
        return None
    told = ", ".join(f"{percent(value.mean)} % at {size:,}" for size, value in curve.items())
    largest = max(curve)
    step = compared(study, (standard, LARGE), (standard, largest)) if LARGE in curve and largest > LARGE else None
    if step is None:
        absent = f"no vocabulary of {LARGE:,} names and a larger one; `standard` has {told}"
        return Finding(_name(study), study.experiment, ABSENT, absent)
    test = f" (p {p_text(step.test.p)})" if step.test else " (not tested)"
    text = f"`standard` has {told}; {LARGE:,} against {largest:,} names: {points(step.difference)} points{test}"
    return Finding(_name(study), study.experiment, _better([step]), text)


def _full_is_worse(study: Study) -> Finding | None:
    full = study.find("full")
    ordered = study.find("ordered")
    zero = full if full else ordered
    curve = {size: value for size, value in study.curve(ordered).items() if size > 0} if ordered else {}
    if zero is None or ordered is None or not curve or study.value(zero, 0) is None:
        return None
    # Every size, not the best one: to choose it on the test split and then test it there would flatter it.
    found = [each for size in curve if (each := compared(study, (ordered, size), (zero, 0)))]
    text = f"`ordered` with a vocabulary − full anonymization, points: {_told(found)}"
    return Finding(_name(study), study.experiment, _better(found), text)


def _combined(study: Study) -> Finding | None:
    both = study.find("ordered + pointer")
    alone = [series for name in ("ordered", "standard + pointer") if (series := study.find(name))]
    found = []
    for size in study.sizes:
        values = [(value.mean, series) for series in alone if (value := study.value(series, size))]
        if both and len(values) == 2:
            best = max(values, key=lambda value: value[0])[1]
            found += [each] if (each := compared(study, (both, size), (best, size))) else []
    if not found:
        return None
    tests = [each.test for each in found if each.test]
    if len(tests) == len(found) and all(test.high < MARGIN for test in tests):
        verdict = HOLDS
    else:
        verdict = FAILS if any(test.low > MARGIN for test in tests) else OPEN
    return Finding(_name(study), study.experiment, verdict, f"both − the better of the two, points: {_told(found)}")


def _placeholders(study: Study) -> Finding | None:
    parts, found = [], []
    kinds = dict.fromkeys(series.besides_placeholders for series in study.series)
    for plain in (kind for kind in kinds if not kind.extras):
        for size in study.sizes:
            cells = {
                study.cells[series, size][0].placeholders: series
                for series in study.series
                if series.besides_placeholders == plain and (series, size) in study.cells
            }
            if len(cells) > 1:
                least, most = min(cells), max(cells)
                if each := compared(study, (cells[most], size), (cells[least], size)):
                    found.append(each)
                    test = f", p {p_text(each.test.p)}" if each.test else ", not tested"
                    cell = f"`{plain.label}` at {size:,}, {most:,} − {least:,} placeholders"
                    parts.append(f"{cell}: {points(each.difference)}{test}")
    if not found:
        return None
    verdict = _same(found)
    if study.task == "completion":
        # The paper has a drop here, of less than a point.
        tests = [each.test for each in found if each.test]
        is_drop = len(tests) == len(found) and all(test.high < 0 and test.low > -2 * MARGIN for test in tests)
        is_other = any(test.low > 0 or test.high < -2 * MARGIN for test in tests)
        verdict = HOLDS if is_drop else FAILS if is_other else OPEN
    return Finding(_name(study), study.experiment, verdict, "points: " + "; ".join(parts))


def _types(study: Study) -> Finding | None:
    ordered, standard = study.find("ordered"), study.find("standard")
    found = _at_sizes(study, ordered, standard, OF_TYPES) if ordered and standard else []
    if not found:
        return None
    text = f"`ordered` − `standard`, {OF_TYPES.name}, points: {_told(found)}"
    return Finding(_name(study), study.experiment, _better(found), text)


def _apart(result: Result) -> Finding | None:
    found = {key: number_at(result.embeddings, "cosine", key) for key in cosines()}
    vocabulary, placeholders, between = found["within_vocabulary"], found["within_placeholders"], found["between"]
    if vocabulary is None or placeholders is None or between is None:
        return None
    verdict = HOLDS if min(vocabulary, placeholders) > between else FAILS
    text = _told_cosines(found)
    rest = {key: number_at(result.embeddings, "cosine_centred", key) for key in cosines()}
    if None not in rest.values():
        p = number_at(result.embeddings, "p_centred")
        tested = "" if p is None else f" (p {p_text(p)} against groups drawn at random)"
        text += f"; without what all embeddings have in common, {_told_cosines(rest)}{tested}"
        verdict = PARTLY if verdict == FAILS and p is not None and p < LEVEL else verdict
    name = f"{LANGUAGES.get(result.language, result.language)} (`{result.experiment}`, `{result.cell}`)"
    return Finding(name, result.experiment, verdict, f"mean cosine {text}")


def _told_cosines(found: Mapping[str, float | None]) -> str:
    spelt = {key: f"{value or 0:.2f}".replace("-", "−") for key, value in found.items()}
    return (
        f"{spelt['within_vocabulary']} within the vocabulary, {spelt['within_placeholders']} within placeholders, "
        f"{spelt['between']} between"
    )


def _paper_gain(first: str, second: str) -> str:
    """The paper's own differences, as a range over its sizes."""
    parts = []
    for task in ("misuse", "completion"):
        for language in ("python", "javascript"):
            found = [gain for size, gain in _gains(task, language, first, second).items() if size > 0]
            if found:
                parts.append(f"{points(min(found))} to {points(max(found))} ({task}, {LANGUAGES[language]})")
    return f" In the paper, with a vocabulary: {', '.join(parts)} points."


def _gains(task: str, language: str, first: str, second: str) -> dict[int, float]:
    """By how much one series is better than another in the paper, by vocabulary size."""
    study = paper_study(task, language)
    ours, others = (study.scores.get(name, {}) for name in (first, second)) if study else ({}, {})
    return {size: (ours[size] - others[size]) / 100 for size in ours if size in others}


def _paper_full() -> str:
    parts = []
    for task in ("misuse", "completion"):
        for language in ("python", "javascript"):
            if study := paper_study(task, language):
                scores = study.scores["ordered"]
                parts.append(
                    f"{scores[0]:.1f} against up to {max(scores.values()):.1f} ({task}, {LANGUAGES[language]})"
                )
    return f" In the paper: {', '.join(parts)}."


def _paper_largest() -> str:
    parts = []
    for language in ("python", "javascript"):
        if study := paper_study("misuse", language):
            scores = study.scores["standard"]
            parts.append(f"{scores[LARGE]:.1f} against {scores[max(scores)]:.1f} ({LANGUAGES[language]})")
    return f" In the paper, variable misuse: {', '.join(parts)}."


def _paper_placeholders() -> str:
    parts = []
    for language in ("python", "javascript"):
        if study := paper_study("completion", language):
            least, most = min(study.placeholders), max(study.placeholders)
            for size, score in study.placeholders[least].items():
                drop = points((study.placeholders[most][size] - score) / 100)
                parts.append(f"{drop} ({LANGUAGES[language]}, {size:,} names)")
    return f" In the paper, completion, 3,000 instead of 500: {', '.join(parts)} points."


def _paper_embeddings() -> str:
    return f" In the paper, mean cosine: {_told_cosines(cosines())}."
