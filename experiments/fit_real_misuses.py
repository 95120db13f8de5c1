"""Fit the weights of the bug sampler `realistic` to real fixes, and print them as a table.

    python experiments/fit_real_misuses.py FIXES.jsonl.gz … --language python \\
        [--splits experiments/corpora/real-bugs-splits.txt] [--split train]

In each fixed function, every read of a local name could have held any other local name in scope. The model is a
softmax over these misuses, linear in the features of `rarename.tasks.misuse.features`; the real ones are most probable
at the weights. A small penalty keeps rare features near zero. The table also has the mean of each feature among real
misuses and among all misuses, each function counted once.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rarename.corpus.splits import read_splits
from rarename.encoding import Encoding
from rarename.syntax import Language, language_named
from rarename.tasks.misuse.features import FEATURES, REAL_WEIGHTS, misuse_features
from rarename.tasks.misuse.fixes import Fix, read_fixes
from rarename.tasks.misuse.injection import local_misuses, misuse_pairs
from rarename.vocabulary import Vocabulary

PENALTY = 2.0
Choice = tuple[NDArray[np.float64], int]  # the features of all misuses, and which one is real


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for language in ("python", "javascript"):
        parser.add_argument(f"--{language}", type=Path, nargs="+", default=[], metavar="FIXES")
    parser.add_argument("--splits", type=Path)
    parser.add_argument("--split", default="train")
    arguments = parser.parse_args()
    splits = read_splits(arguments.splits) if arguments.splits else None
    found = []
    for language in map(language_named, ("python", "javascript")):
        for path in getattr(arguments, language.name):
            fixes = read_fixes(path, language, "A", splits, arguments.split).fixes
            found += [choice(fix, language) for fix in fixes]
    choices = [each for each in found if each is not None]
    weights = fit(choices)
    real = np.array([features[index] for features, index in choices]).mean(axis=0)
    random = np.array([features.mean(axis=0) for features, _ in choices]).mean(axis=0)
    names = "uniform", "stored weights", "fitted weights"
    print(f"{len(choices)} of {len(found)} fixes are misuses of local names")
    for name, each in zip(names, (np.zeros(len(FEATURES)), REAL_WEIGHTS, weights), strict=True):
        print(f"mean log-probability, {name}: {np.mean([log_probability(choice, each) for choice in choices]):.3f}")
    print(f"{'feature':<20} {'real':>7} {'random':>7} {'weight':>7}")
    for row in zip(FEATURES, real, random, weights, strict=True):
        print("{:<20} {:>7.3f} {:>7.3f} {:>7.2f}".format(*row))
    print(f"[{', '.join(f'{weight:.2f}' for weight in weights)}]")


def choice(fix: Fix, language: Language) -> Choice | None:
    """The misuses of a fixed function; None if the real one is not among them."""
    values = Vocabulary(value for value in fix.traversal.values if value is not None)
    example = fix.example(language, Encoding(values))
    if example is None:
        return None
    function, bug = example
    locations, wrong, similarity = misuse_pairs(function, local_misuses(function))
    (real,) = np.nonzero((locations == bug.location) & (wrong == bug.wrong))
    features = misuse_features(function, locations, function.values[locations], wrong, similarity)
    return (features, int(real[0])) if len(real) else None


def log_probability(choice: Choice, weights: NDArray[np.float64]) -> float:
    """The log-probability of the real misuse."""
    features, real = choice
    scores = features @ weights
    return float(scores[real] - np.logaddexp.reduce(scores))


def fit(choices: list[Choice]) -> NDArray[np.float64]:
    """The weights with the highest penalized likelihood, by Newton's method."""
    weights = np.zeros(len(FEATURES))
    for _ in range(20):
        gradient, hessian = -PENALTY * weights, PENALTY * np.eye(len(FEATURES))
        for features, real in choices:
            scores = features @ weights
            probabilities = np.exp(scores - np.logaddexp.reduce(scores))
            mean = probabilities @ features
            gradient += features[real] - mean
            hessian += features.T @ (probabilities[:, None] * features) - np.outer(mean, mean)
        step = np.linalg.solve(hessian, gradient)
        weights += step
        if np.abs(step).max() < 1e-6:
            break
    return weights


if __name__ == "__main__":
    main()
