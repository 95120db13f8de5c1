"""`make demo`: see the method work, on one file and on a corpus."""

import shlex
import subprocess
import sys
from pathlib import Path

EXAMPLE = "examples/manifests.py"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = folder / "names.txt"
    names.write_text("np\nsin\n")
    figure = folder / "figure1.py"
    figure.write_text("my_y = np.sin(my_x) + my_x\n")
    corpus = folder / "stdlib"

    say("Figure 1 of the paper. The vocabulary is np, sin; every other name is rare:")
    show("cat", figure)
    rarename("anonymize", figure, "--vocabulary", names, "--strategy", "standard")
    rarename("anonymize", figure, "--vocabulary", names, "--strategy", "ordered")

    say("A real function, with the 300 most frequent names of Python:")
    rarename("anonymize", EXAMPLE, "--vocabulary-size", "300")

    say("A corpus from the standard library of this interpreter. Interrupt it, and it goes on where it stopped:")
    rarename("prepare", corpus, "stdlib", "--language", "python")

    say("What is in it, and how many of the identifiers a vocabulary covers; the rest is what this is about:")
    rarename("inspect", corpus, "--top", "5")

    say("The same file with the vocabulary of that corpus, all placeholders drawn at random:")
    rarename("anonymize", EXAMPLE, "--vocabulary", corpus, "--vocabulary-size", "300", "--strategy", "randomized")


def say(text: str) -> None:
    print(f"\n=== {text}\n", flush=True)


def rarename(*words: object) -> None:
    show("rarename", *words, program=[sys.executable, "-m", "rarename"])


def show(name: str, *words: object, program: list[str] | None = None) -> None:
    """Print a command as a person would type it, then run it."""
    arguments = [str(word) for word in words]
    print(f"$ {shlex.join([name, *arguments])}", flush=True)
    subprocess.run([*(program or [name]), *arguments], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
