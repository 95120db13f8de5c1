"""The paper's data, compared with its published rules on plain JSON, on random corpora in the published format."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from rarename.cli.main import main

FILES = {"python": ("python100k_train", "python50k_eval"), "javascript": ("programs_training", "programs_eval")}
SPLITS = {"train": "train", "validation": "val", "test": "test"}
FUNCTIONS = {"FunctionDef", "FunctionDeclaration", "FunctionExpression"}
VARIABLES = {"NameParam", "NameStore", "NameLoad", "Identifier", "VariableDeclarator", "Property"}
STAND_INS = {"Str", "LiteralString", "LiteralRegExp"}


def is_literal_property(node):
    value = node.get("value")
    return node["type"] == "Property" and not (isinstance(value, str) and value.replace("$", "_").isidentifier())


def subtree(nodes, root):
    """The subtree of a node with its own numbering."""
    indexes = [root]
    for index in range(root + 1, len(nodes)):
        if any(index in nodes[each].get("children", ()) for each in indexes):
            indexes.append(index)
    numbers = {index: number for number, index in enumerate(indexes)}
    return [
        {
            key: [numbers[child] for child in value] if key == "children" else value
            for key, value in nodes[index].items()
        }
        for index in indexes
    ]


def walk(nodes, index=0):
    """The functions of a tree. A function is not searched for others."""
    if nodes[index]["type"] in FUNCTIONS:
        yield subtree(nodes, index)
    else:
        for child in nodes[index].get("children", ()):
            yield from walk(nodes, child)


def num_windows(length):
    """Windows of 500 nodes that overlap by half; the last one ends with the file."""
    starts = [0] if length <= 500 else [*range(0, length - 500, 250), length - 500]
    new = [min(length, start + 500) - (before + 500) for before, start in zip([-500, *starts], starts, strict=False)]
    return sum(count > 1 for count in new)


def split_files(folder, language):
    """The path and the tree of each file that stays, by split."""
    lists, short = folder / "lists", language[0] + {"python": "y", "javascript": "s"}[language]
    owners = {
        split: (lists / f"repos/{name}_repos_{short}.txt").read_text().split("\n") for split, name in SPLITS.items()
    }
    groups = json.loads((lists / f"duplicates/{short}150-duplicates.json").read_text())
    listed = {path[path.index("own") :] for group in groups for path in group[1:]}
    manifests = [json.loads(path.read_text()) for path in lists.glob("py_redistributable_repos/*.json")]
    allowed = {entry["filepath"] for manifest in manifests for entry in manifest}
    kept, seen = {split: [] for split in SPLITS}, set()
    for name in FILES[language]:
        records = (folder / f"{name}.json").read_bytes().decode("latin-1").split("\n")
        for path, record in zip((folder / f"{name}.txt").read_text().split("\n"), records, strict=False):
            path = path.removeprefix("data/")
            split = next((split for split in SPLITS if path.split("/")[0] in owners[split]), None)
            if split and path not in listed and record not in seen and (language != "python" or path in allowed):
                kept[split].append((path, [node for node in json.loads(record) if node != 0]))
                seen.add(record)
    return kept


def expected(folder, language):
    """What `rarename inspect CORPUS --preset paper --files` should print."""
    files, seen, misuse, completion = split_files(folder, language), set(), {}, {}
    for split, kept in files.items():
        bugs, values = [], set()
        for function in (function for _, nodes in kept for function in walk(nodes)):
            key = json.dumps(function, sort_keys=True)
            variables = [
                node["value"]
                for node in function
                if node["type"] in VARIABLES and "value" in node and not is_literal_property(node)
            ]
            counts = Counter(variables)
            again = [name for name in variables if counts[name] > 1]
            if key not in seen and len(function) <= 250 and len(counts) >= 3 and again:
                bugs.append(min(3, len(again)))
                named = [node for node in function if node["type"] not in STAND_INS and not is_literal_property(node)]
                values |= {node["value"] for node in named if "value" in node}
            seen.add(key)
        misuse[split] = {
            "functions": len(bugs), "buggy": sum(bugs), "examples_per_epoch": 2 * sum(bugs),
            "distinct_values": len(values),
        }  # fmt: skip
        completion[split] = {"windows": sum(num_windows(len(nodes)) for _, nodes in kept)}
    paths = {split: [path for path, _ in kept] for split, kept in files.items()}
    return {"files": paths, "tasks": {"misuse": misuse, "completion": completion}}


TYPES = {
    "python": "FunctionDef FunctionDef AsyncFunctionDef NameLoad NameStore NameParam Str Num attr ClassDef If Call",
    "javascript": "FunctionDeclaration FunctionExpression ArrowFunctionExpression Identifier Property "
    "VariableDeclarator LiteralString LiteralRegExp ArrayAccess BlockStatement IfStatement CallExpression",
}
LEAVES = {"NameLoad", "NameStore", "NameParam", "Str", "Num", "attr", "Identifier", "LiteralString", "LiteralRegExp"}
WITHOUT_VALUE = {
    "FunctionDeclaration",
    "FunctionExpression",
    "ArrowFunctionExpression",
    "ArrayAccess",
    "BlockStatement",
}
WITHOUT_VALUE |= {"IfStatement", "CallExpression", "If", "Call"}


def random_tree(rng, language, size):
    nodes = []

    def add(type_, depth):
        node, index = {"type": type_}, len(nodes)
        nodes.append(node)
        if depth and type_ not in WITHOUT_VALUE and (language == "python" or rng.random() < 0.95):
            odd = ["e-f", "7", 7, "\xe9", "$", ""] if type_ == "Property" else []
            node["value"] = rng.choice(["a", "b", "c", "None", *odd])
        children = []
        for _ in range(0 if type_ in LEAVES else rng.choice([0, 1, 2, 4]) if depth else 99):
            if len(nodes) < size and depth < 9:
                children.append(add(rng.choice(TYPES[language].split()), depth + 1))
        if children:
            node["children"] = children
        return index

    add({"python": "Module", "javascript": "Program"}[language], 0)
    return nodes


def restructured(rng, nodes):
    """The same nodes in the same order, one of them a child of the leaf before it."""
    nodes = json.loads(json.dumps(nodes))
    for node in rng.sample(nodes, len(nodes)):
        for left, right in zip(node.get("children", ()), node.get("children", ())[1:], strict=False):
            if right == left + 1 and nodes[left]["type"] not in LEAVES:
                node["children"].remove(right)
                nodes[left]["children"] = [right]
                return nodes
    return nodes


def wrapped(nodes, function):
    """The same nodes inside a function."""
    shifted = [node | ({"children": [c + 1 for c in node["children"]]} if "children" in node else {}) for node in nodes]
    return [{"type": nodes[0]["type"], "children": [1]}, shifted[0] | function, *shifted[1:]]


def write_corpus(folder: Path, language: str, seed: int) -> None:
    """Made-up records, paths and lists in the layout of the publication."""
    rng, short = random.Random(seed), language[0] + {"python": "y", "javascript": "s"}[language]
    function = {"type": "FunctionDef", "value": "f"} if language == "python" else {"type": "FunctionExpression"}
    owners = [f"own{number}" for number in range(8)]
    trees, paths = [], [f"data/{rng.choice(owners)}/r/{number}.{short}" for number in range(60)]
    for _ in paths:
        old = rng.choice(trees or [[]])
        new = random_tree(rng, language, rng.choice([1, 6, 60, 60, 501, 1_200]))
        strings = [node | {"value": "7"} if node.get("value") == 7 else node for node in old]
        variants = [old, restructured(rng, old), strings, wrapped(old, function) if old else []]
        trees.append(rng.choice([*variants, new, new, new, new]) or new)
    lines = [json.dumps(nodes if language == "python" else [*nodes, 0], ensure_ascii=False) for nodes in trees]
    for name, part in zip(FILES[language], (slice(0, 40), slice(40, None)), strict=True):
        (folder / f"{name}.json").write_bytes("\n".join(lines[part]).encode(rng.choice(["latin-1", "utf-8"])))
        (folder / f"{name}.txt").write_text("\n".join(paths[part]))
    lists = folder / "lists"
    for name in ("repos", "duplicates", "py_redistributable_repos"):
        (lists / name).mkdir(parents=True)
    for number, name in enumerate(SPLITS.values()):
        (lists / f"repos/{name}_repos_{short}.txt").write_text("\n".join(owners[2 * number : 2 * number + 2]) + "\n")
    prefix, skip = ("/scratchvol/miallama/py150/", 0) if language == "python" else ("", 5)
    groups = [[prefix + path[skip:] for path in rng.sample(paths, 3)] for _ in range(2)]
    (lists / f"duplicates/{short}150-duplicates.json").write_text(json.dumps(groups))
    for number, name in enumerate(("dev", "train", "eval") if language == "python" else ()):
        entries = [{"filepath": path[5:]} for path in paths[number::3] if rng.random() < 0.9]
        (lists / f"py_redistributable_repos/{name}__manifest.json").write_text(json.dumps(entries))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("language", ["python", "javascript"])
def test_files_functions_bugs_and_windows_are_those_of_the_published_rules(tmp_path, capsys, language, seed):
    write_corpus(tmp_path, language, seed)
    name = {"python": "py150", "javascript": "js150"}[language]
    arguments = [str(tmp_path / "corpus"), f"{name}:{tmp_path}", "--paper-split", str(tmp_path / "lists")]
    assert main(["prepare", *arguments, "--language", language, "--jobs", "1"]) == 0
    capsys.readouterr()
    inspect = ["inspect", str(tmp_path / "corpus"), "--preset", "paper"]
    assert main([*inspect, "--files", "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == expected(tmp_path, language)
    assert found["tasks"]["misuse"]["train"]["functions"] > 3
    assert main(inspect) == 0
    table = capsys.readouterr().out
    assert f"{found['tasks']['completion']['train']['windows']:,}" in table
    assert {"python": "417K functions", "javascript": "202K functions"}[language] in table
