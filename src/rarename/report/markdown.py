"""A report as Markdown, with its figures as files beside it."""

from collections.abc import Sequence

from rarename.report.document import (
    Block,
    Bullets,
    Cell,
    Code,
    Details,
    Document,
    Figure,
    Heading,
    Paragraph,
    Table,
)


def markdown(document: Document) -> str:
    return f"# {document.title}\n\n" + "\n\n".join(_block(block) for block in document.blocks) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(level=level, text=text):
            return f"{'#' * level} {text}"
        case Paragraph(text=text):
            return text
        case Bullets(items=items):
            return "\n".join(f"- {item}" for item in items)
        case Code(lines=lines):
            return "\n".join(["```", *lines, "```"])
        case Table():
            return _table(block)
        case Figure(name=name, title=title, note=note):
            return f"![{title}](figures/{name}.svg)" + (f"\n\n{note}" if note else "")
        case Details(summary=summary, blocks=blocks):
            inside = "\n\n".join(_block(each) for each in blocks)
            return f"<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"


def _table(table: Table) -> str:
    count = len(table.columns)
    rules = ["---" if number < table.num_labels else "---:" for number in range(count)]
    lines = [f"**{table.title}**", "", _row(table.columns), f"|{'|'.join(rules)}|"]
    lines += [_row([_cell(cell) for cell in row]) for row in table.rows]
    return "\n".join([*lines, "", table.note] if table.note else lines)


def _cell(cell: Cell) -> str:
    if cell.is_best and cell.text:
        return f"**{cell.text}**"
    return f"*{cell.text}*" if cell.is_quoted and cell.text else cell.text


def _row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
