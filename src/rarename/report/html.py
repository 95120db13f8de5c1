"""A report as one page of HTML that needs nothing else: no network, no script, no font."""

import re
from collections.abc import Sequence
from html import escape

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
from rarename.report.svg import DARK, LIGHT, STYLE, variables

NARROW = 380
"""The width that figures are drawn for on a telephone."""

PAGE_LIGHT = {"ground": "#f4f6f8", "link": "#0b5cad", "stripe": "#f7f9fb", "edge": "#dde3e9", "mark": "#e8f1fb"}
PAGE_DARK = {"ground": "#0d1219", "link": "#7ab6ff", "stripe": "#1a222d", "edge": "#2a3441", "mark": "#1d3350"}

CSS = """
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);
  font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
.page{max-width:1340px;margin:0 auto;padding:0 16px 64px}
nav{font-size:14px}nav ul{list-style:none;margin:0;padding:0}nav li{margin:2px 0}
nav .l3{padding-left:14px;color:var(--muted)}
main{min-width:0;max-width:1010px}
h1{font-size:30px;line-height:1.2;margin:36px 0 8px}
h2{font-size:23px;line-height:1.25;margin:52px 0 12px;padding-top:14px;border-top:1px solid var(--edge)}
h3{font-size:17px;margin:30px 0 8px}
p{margin:10px 0;max-width:76ch}li{margin:6px 0;max-width:80ch}ul{padding-left:22px}
code{font:0.88em ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
  background:var(--mark);border-radius:4px;padding:1px 4px;overflow-wrap:anywhere}
pre{background:var(--card);border:1px solid var(--edge);border-radius:8px;padding:12px;overflow-x:auto;
  font-size:13px;line-height:1.5}
pre code{background:none;padding:0;font-size:1em;overflow-wrap:normal}
figure{margin:18px 0;background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:10px}
figure svg{display:block;width:100%;height:auto;margin:0 auto}
figure svg.narrow{display:none}
figcaption,.note{font-size:13.5px;line-height:1.45;color:var(--muted);max-width:92ch;margin:6px 2px 0}
.sheet{margin:20px 0}
.card{background:var(--card);border:1px solid var(--edge);border-radius:10px;overflow:hidden}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14.5px;font-variant-numeric:tabular-nums}
.caption{font-weight:600;font-size:14.5px;padding:10px 12px 2px;margin:0;max-width:none}
th,td{padding:6px 12px;text-align:right;white-space:nowrap;border-top:1px solid var(--edge)}
thead th{border-top:0;color:var(--muted);font-weight:600;font-size:13px;vertical-align:bottom;white-space:normal}
tr{background:var(--card)}td:first-child,th:first-child{position:sticky;left:0;background:inherit}
th.label,td.label{text-align:left}tbody tr:nth-child(even){background:var(--stripe)}
td.best{font-weight:700}td.quoted,th.quoted{color:var(--muted);font-style:italic}
.changes{white-space:normal;min-width:210px}
.words td{white-space:normal;vertical-align:top}.words .changes{min-width:0}
details{margin:14px 0}summary{cursor:pointer;color:var(--link);font-weight:600;padding:4px 0}
.verdict{display:inline-block;border-radius:999px;padding:0 9px;font-size:13px;font-weight:600;
  border:1px solid currentColor;margin-right:4px;white-space:nowrap}
.v-holds{color:var(--t5)}.v-does-not-hold{color:var(--t4)}.v-holds-in-part{color:var(--t7)}
.v-undecided,.v-not-measured{color:var(--muted)}
@media (min-width:900px){.words code{white-space:nowrap}}
@media (min-width:1180px){
  .page{display:grid;grid-template-columns:230px minmax(0,1fr);column-gap:44px;
    grid-template-areas:"nav head" "nav main";grid-template-rows:auto 1fr}
  header{grid-area:head}main{grid-area:main}
  nav{grid-area:nav;position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto;padding:44px 0 20px}
}
@media (max-width:1179px){nav{margin:8px 0 16px;padding:10px 14px;background:var(--card);
  border:1px solid var(--edge);border-radius:10px}nav .l3{display:none}}
@media (max-width:600px){
  body{font-size:15.5px}h1{font-size:25px}h2{font-size:20px}
  figure{padding:6px}figure svg.wide{display:none}figure svg.narrow{display:block}
  th,td{padding:6px 9px}table{font-size:14px}
  .words thead{display:none}.words tr{display:block;padding:6px 0;border-top:1px solid var(--edge)}
  .words td{display:block;text-align:left;border:0;padding:1px 9px}.words td:first-child{font-weight:600}
  .words td[data-name]::before{content:attr(data-name) ": "}
}
@media print{nav{display:none}figure,.sheet{break-inside:avoid}}
"""


def html(document: Document) -> str:
    light = variables(LIGHT | PAGE_LIGHT)
    dark = variables(DARK | PAGE_DARK)
    colours = f":root{{color-scheme:light dark;{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    body = "".join(_block(block) for block in document.blocks)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(document.title)}</title>\n<style>\n{colours}{CSS}{STYLE}\n</style>\n</head>\n<body>\n"
        f'<div class="page">\n<header><h1>{escape(document.title)}</h1></header>\n{_contents(document)}'
        f"<main>\n{body}</main>\n</div>\n"
        "</body>\n</html>\n"
    )


def _contents(document: Document) -> str:
    headings = [block for block in document.blocks if isinstance(block, Heading)]
    items = "".join(
        f'<li class="l{block.level}"><a href="#{escape(block.anchor)}">{_inline(block.text)}</a></li>\n'
        for block in headings
    )
    return f'<nav aria-label="Contents">\n<ul>\n{items}</ul>\n</nav>\n' if items else ""


def _block(block: Block) -> str:
    match block:
        case Heading(level=level, text=text, anchor=anchor):
            return f'<h{level} id="{escape(anchor)}">{_inline(text)}</h{level}>\n'
        case Paragraph(text=text):
            return f"<p>{_inline(text)}</p>\n"
        case Bullets(items=items):
            return _bullets(items)
        case Code(lines=lines):
            return f"<pre><code>{escape(chr(10).join(lines))}</code></pre>\n"
        case Table():
            return _table(block)
        case Figure():
            return _figure(block)
        case Details(summary=summary, blocks=blocks):
            inside = "".join(_block(each) for each in blocks)
            return f"<details>\n<summary>{_inline(summary)}</summary>\n{inside}</details>\n"


def _bullets(items: Sequence[str]) -> str:
    """A list; an item that begins with two more blanks and a dash belongs to the one before."""
    rows: list[str] = []
    for item in items:
        head, *inner = item.split("\n  - ")
        nested = "".join(f"<li>{_inline(each)}</li>\n" for each in inner)
        rows.append(f"<li>{_inline(head)}{f'<ul>{nested}</ul>' if nested else ''}</li>\n")
    return f"<ul>\n{''.join(rows)}</ul>\n"


def _figure(figure: Figure) -> str:
    caption = f"<figcaption>{_inline(figure.note)}</figcaption>\n" if figure.note else ""
    wide, narrow = figure.draw(figure.width), figure.draw(NARROW)
    return f"<figure>\n{wide.inline('wide')}{narrow.inline('narrow')}{caption}</figure>\n"


def _table(table: Table) -> str:
    quoted = [name.startswith("paper") for name in table.columns]
    kinds = [
        " ".join(kind for kind, is_so in (("label", number < table.num_labels), ("quoted", quoted[number])) if is_so)
        for number in range(len(table.columns))
    ]
    head = "".join(
        f'<th scope="col"{_class(kind)}>{_inline(name)}</th>' for name, kind in zip(table.columns, kinds, strict=True)
    )
    # A table of words, with a number at most, has one row below the other on a telephone: nothing to scroll sideways.
    is_of_words = table.num_labels >= max(2, len(table.columns) - 1)
    names = [name if is_of_words and number >= table.num_labels else "" for number, name in enumerate(table.columns)]
    rows = "".join(
        f"<tr>{''.join(_cell(*each) for each in zip(row, kinds, names, strict=True))}</tr>\n" for row in table.rows
    )
    words = ' class="words"' if is_of_words else ""
    note = f'<p class="note">{_inline(table.note)}</p>\n' if table.note else ""
    return (
        '<div class="sheet">\n<div class="card">'
        f'<p class="caption" id="table-{table.name}">{_inline(table.title)}</p>\n'
        f'<div class="scroll" tabindex="0"><table{words} aria-labelledby="table-{table.name}">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div></div>\n{note}</div>\n"
    )


def _cell(cell: Cell, kind: str, name: str) -> str:
    kinds = [kind] if kind else []
    kinds += ["best"] if cell.is_best else []
    kinds += ["changes"] if len(cell.text) > 60 else []
    named = f' data-name="{escape(name)}"' if name else ""
    return f"<td{_class(' '.join(kinds))}{named}>{_inline(cell.text)}</td>"


def _class(kinds: str) -> str:
    return f' class="{kinds}"' if kinds else ""


def _inline(text: str) -> str:
    """Escape, then mark: `code`, **strong**, and verdicts, which are strong words with a colour of their own."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(f"<code>{escape(part[1:-1])}</code>" if _is_code(part) else _strong(escape(part)) for part in parts)


def _is_code(part: str) -> bool:
    return len(part) > 1 and part.startswith("`") and part.endswith("`")


def _strong(text: str) -> str:
    def mark(found: re.Match[str]) -> str:
        kind = found[1].rstrip(":.").replace(" ", "-")
        if kind in ("holds", "does-not-hold", "holds-in-part", "undecided", "not-measured"):
            return f'<span class="verdict v-{kind}">{found[1].rstrip(":.")}</span>'
        return f"<strong>{found[1]}</strong>"

    return re.sub(r"\*\*(.+?)\*\*", mark, text)
