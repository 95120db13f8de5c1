"""Counts of words: plain functions."""

import os
import sys
from collections import Counter


def words_of(text, stop_words=()):
    for raw_word in text.lower().split():
        word = raw_word.strip(".,;:!?\"'()")
        if word and word not in stop_words:
            yield word


def count_words(paths, stop_words=(), encoding="utf-8"):
    counts = Counter()
    for path in paths:
        try:
            with open(path, encoding=encoding) as stream:
                for line in stream:
                    counts.update(words_of(line, stop_words))
        except (OSError, UnicodeDecodeError) as error:
            print("%s: %s" % (path, error), file=sys.stderr)
    return counts


def text_files(folder, suffix=".txt"):
    result = []
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(suffix):
                result.append(os.path.join(parent, name))
    return result


def histogram(counts, num_rows=10, width=40):
    rows = []
    largest = max(counts.values(), default=1)
    for word, count in counts.most_common(num_rows):
        bar = "#" * max(1, round(width * count / largest))
        rows.append("%-20s %s %d" % (word, bar, count))
    return "\n".join(rows)


def compare(old_counts, new_counts):
    changes = {}
    for word in old_counts.keys() | new_counts.keys():
        change = new_counts[word] - old_counts[word]
        if change:
            changes[word] = change
    return sorted(changes.items(), key=lambda item: (-abs(item[1]), item[0]))


def main(arguments):
    if len(arguments) < 2:
        print("usage: wordcount FOLDER [STOPWORDS]", file=sys.stderr)
        return 2
    stop_words = frozenset()
    if len(arguments) > 2:
        with open(arguments[2]) as stop_file:
            stop_words = frozenset(words_of(stop_file.read()))
    counts = count_words(text_files(arguments[1]), stop_words)
    print(histogram(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
