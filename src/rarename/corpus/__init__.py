"""Many files, encoded once, for every vocabulary size and strategy.

Reading order: prepare (the steps), sources (where files come from), shards (the work on some of them),
duplicates, splits, store (the corpus on disk), coverage.
"""

from rarename.corpus.prepare import PrepareSettings, prepare
from rarename.corpus.store import Corpus, Split, StoredFile

__all__ = ["Corpus", "PrepareSettings", "Split", "StoredFile", "prepare"]
