"""Where the embeddings of placeholders lie, and where those of names (paper, appendix D)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from rarename.encoding import Encoding
from rarename.errors import RunError, UsageError
from rarename.runs.run import ENCODING, WEIGHTS
from rarename.vocabulary import Special

TENSOR = "transformer.values.weight"
PERPLEXITY = 30.0
"""The default of t-SNE, which the paper takes."""

Floats = NDArray[np.float64]


def check_installed() -> None:
    """Say what to install before training begins, not after."""
    if find_spec("sklearn") is None:
        raise UsageError("embeddings need the package scikit-learn; install it with rarename[report]")


def look_at_embeddings(run: Path) -> dict[str, Any]:
    """The value embeddings of a run's best weights, in two dimensions, and how alike they are.

    Special values are left out. A point is `[x, y, "placeholder" or "vocabulary", name]`.
    """
    encoding = Encoding.load(run / ENCODING)
    try:
        with safe_open(run / WEIGHTS, framework="numpy") as file:
            vectors: Floats = file.get_tensor(TENSOR).astype(np.float64)[len(Special) :]
    except (OSError, SafetensorError) as error:
        raise RunError(f"{run / WEIGHTS} is missing or damaged: {error}") from error
    names = encoding.to_text(range(len(Special), encoding.num_values))
    num_names = encoding.first_placeholder - len(Special)
    kinds = ["vocabulary"] * num_names + ["placeholder"] * (len(names) - num_names)
    points = in_two_dimensions(vectors)
    placeholders, vocabulary = vectors[num_names:], vectors[:num_names]
    return {
        "points": [
            [round(x, 3), round(y, 3), kind, name]
            for (x, y), kind, name in zip(points.tolist(), kinds, names, strict=True)
        ],
        "cosine": cosines(placeholders, vocabulary),
        "cosine_centred": cosines(*centred(placeholders, vocabulary)),
        "p_centred": p_of_gap(placeholders, vocabulary),
    }


def cosines(placeholders: Floats, vocabulary: Floats) -> dict[str, float]:
    """How alike embeddings of one kind are, and embeddings of two."""
    return {
        "within_placeholders": mean_cosine(placeholders),
        "within_vocabulary": mean_cosine(vocabulary),
        "between": mean_cosine(placeholders, vocabulary),
    }


def centred(placeholders: Floats, vocabulary: Floats) -> tuple[Floats, Floats]:
    """Both without what all have in common, which would make them alike: each kind weighs the same.

    >>> [kind.tolist() for kind in centred(np.array([[4.0, 1.0]]), np.array([[2.0, 1.0], [0.0, 3.0]]))]
    [[[1.5, -0.5]], [[-0.5, -0.5], [-2.5, 1.5]]]
    """
    if not len(placeholders) or not len(vocabulary):
        return placeholders, vocabulary
    shared = (placeholders.mean(axis=0) + vocabulary.mean(axis=0)) / 2
    return placeholders - shared, vocabulary - shared


def p_of_gap(placeholders: Floats, vocabulary: Floats, shuffles: int = 999) -> float:
    """How often two groups drawn at random, of the same sizes, would lie as far apart once centred.

    Any two groups lie apart a little then, for what they have in common is the mean of their means.
    """
    generator = np.random.default_rng(0)
    together = np.concatenate([placeholders, vocabulary])
    found = _gap(placeholders, vocabulary)
    drawn = (generator.permutation(together) for _ in range(shuffles))
    number = sum(_gap(each[: len(placeholders)], each[len(placeholders) :]) >= found for each in drawn)
    return (1 + number) / (1 + shuffles)


def _gap(placeholders: Floats, vocabulary: Floats) -> float:
    """By how much two of a kind are more alike than two of different kinds."""
    found = cosines(*centred(placeholders, vocabulary))
    return (found["within_placeholders"] + found["within_vocabulary"]) / 2 - found["between"]


def in_two_dimensions(vectors: Floats) -> Floats:
    """t-SNE with the cosine metric; few vectors have fewer neighbours."""
    from sklearn.manifold import TSNE

    if len(vectors) < 3:
        return np.zeros((len(vectors), 2))
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    points: Floats = TSNE(metric="cosine", init="pca", perplexity=perplexity, random_state=0).fit_transform(vectors)
    return points


def mean_cosine(vectors: Floats, others: Floats | None = None) -> float:
    """The mean over all pairs of one of each; over all pairs of different ones, if there is one group.

    >>> mean_cosine(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    0.3333
    >>> mean_cosine(np.array([[1.0, 0.0]]), np.array([[-2.0, 0.0]]))
    -1.0
    """
    ours = _directions(vectors).sum(axis=0)
    if others is None:
        number = len(vectors) * (len(vectors) - 1)
        total = float(ours @ ours) - float((_directions(vectors) ** 2).sum())
    else:
        number = len(vectors) * len(others)
        total = float(ours @ _directions(others).sum(axis=0))
    return round(total / number, 4) if number else 0.0


def _directions(vectors: Floats) -> Floats:
    directions: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return directions
