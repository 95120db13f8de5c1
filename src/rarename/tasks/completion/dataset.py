"""The windows of a corpus."""

import numpy as np
from numpy.typing import NDArray

from rarename.config import CompletionConfig
from rarename.corpus.store import Corpus
from rarename.syntax.functions import windows
from rarename.tasks.completion.collate import Window
from rarename.tasks.rank_mapping import IDENTITY, RankMapping


class WindowDataset:
    """The windows of a split, by index. The nodes stay in the memory-mapped files of the corpus."""

    def __init__(
        self,
        corpus: Corpus,
        split: str,
        config: CompletionConfig,
        mapping: RankMapping = IDENTITY,
    ) -> None:
        size, stride = config.window_size, config.stride if split == "train" else max(1, config.window_size // 2)
        self._mapping = mapping
        self._shards = list(corpus.split(split).shards("types", "values", "roles"))
        project_ids: dict[str, int] = {}
        index: list[tuple[int, int, int, int, int]] = []
        for shard, (lengths, projects, _) in enumerate(self._shards):
            start = 0
            for length, project in zip(lengths.tolist(), projects, strict=True):
                project_id = project_ids.setdefault(project, len(project_ids))
                for window in windows(length, size, stride):
                    num_nodes = window.stop - window.start
                    if num_nodes - window.context >= config.min_new_nodes:
                        index.append((shard, start + window.start, num_nodes, window.context, project_id))
                start += length
        self.project_names = list(project_ids)
        self._index = np.array(index, dtype=np.int64).reshape(-1, 5)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of nodes of each window."""
        return self._index[:, 2]

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, index: int) -> Window:
        shard, start, length, num_context, project = self._index[index].tolist()
        columns = self._shards[shard][2]
        nodes = slice(start, start + length)
        types = self._mapping.map_types(columns["types"][nodes])
        values = self._mapping.map_values(columns["values"][nodes])
        return Window(types, values, columns["roles"][nodes], num_context, project)
