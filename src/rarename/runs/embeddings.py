"""Value embeddings of placeholders and names, in two dimensions (paper, appendix D)."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.encoding import Encoding
from rarename.inference.model_folder import ENCODING
from rarename.training.checkpoint import WEIGHTS, read_tensors
from rarename.vocabulary import Special

PERPLEXITY = 30.0
"""The default of t-SNE, which the paper uses."""

Floats = NDArray[np.float64]


def analyze_embeddings(run: Path) -> dict[str, Any]:
    """The value embeddings of a run in two dimensions, and their mean cosine similarity within and between groups.

    Special values are left out. A point is `[x, y, "placeholder" or "vocabulary", name]`.
    """
    encoding = Encoding.load(run / ENCODING)
    weights = read_tensors(run / WEIGHTS)[0]["transformer.values.weight"]
    vectors: Floats = weights[len(Special) :].numpy().astype(np.float64)
    names = encoding.to_text(range(len(Special), encoding.num_values))
    num_names = encoding.first_placeholder - len(Special)
    groups = ["vocabulary"] * num_names + ["placeholder"] * (len(names) - num_names)
    points = zip(project(vectors).tolist(), groups, names, strict=True)
    return {
        "points": [[round(x, 3), round(y, 3), group, name] for (x, y), group, name in points],
        "cosine": {
            "within_placeholders": mean_cosine(vectors[num_names:]),
            "within_vocabulary": mean_cosine(vectors[:num_names]),
            "between": mean_cosine(vectors[num_names:], vectors[:num_names]),
        },
    }


def project(vectors: Floats) -> Floats:
    """Project to two dimensions by t-SNE with the cosine metric."""
    from sklearn.manifold import TSNE

    if len(vectors) < 3:
        return np.zeros((len(vectors), 2))
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    points: Floats = TSNE(metric="cosine", init="pca", perplexity=perplexity, random_state=0).fit_transform(vectors)
    return points


def mean_cosine(vectors: Floats, others: Floats | None = None) -> float:
    """The mean cosine over all pairs of two groups, or over all pairs of different vectors of one group.

    >>> mean_cosine(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    0.3333
    >>> mean_cosine(np.array([[1.0, 0.0]]), np.array([[-2.0, 0.0]]))
    -1.0
    """
    ours, theirs = (_normalize(each) for each in (vectors, vectors if others is None else others))
    num_pairs, total = len(ours) * len(theirs), float(ours.sum(axis=0) @ theirs.sum(axis=0))
    if others is None:  # not each vector with itself
        num_pairs, total = num_pairs - len(ours), total - float((ours**2).sum())
    return round(total / num_pairs, 4) if num_pairs else 0.0


def _normalize(vectors: Floats) -> Floats:
    directions: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return directions
