# -*- coding: utf-8 -*-
"""Match statements, exception groups, odd literals, names beyond ASCII, tabs."""
import enum

π = 3.14159
größe: int
数据 = {"ключ": "значение", 'emoji': "🎈", b"bytes\x00": R"raw\n" "joined" f"{π:.{2}f}"}
long_text = 'a text that is longer than the sixty characters that the indented form of a tree shows of a value\t\n'


class Token(enum.IntFlag):
	NUMBER, NAME = 1, 2
	OPERATOR = enum.auto()

	def __or__(self, other: 'Token') -> 'Token':
		return Token(int(self) | int(other)) if isinstance(other, Token) else NotImplemented


class Node(metaclass=type, flag=True):
    __slots__ = __match_args__ = ("operator", "left", "right")

    def __init__(self, operator, left, right=None):
        self.operator, self.left, self.right = operator, left, right


def evaluate(expression, environment):
    match expression:
        case int() | float() as number:
            return number
        case str(name) if name in environment:
            return environment[name]
        case Node("-", operand, None):
            return -evaluate(operand, environment)
        case Node(operator="+", left=left_operand, right=right_operand):
            return evaluate(left_operand, environment) + evaluate(right_operand, environment)
        case [first, *middle, last] | (first, *middle, last):
            return [evaluate(item, environment) for item in (first, *middle, last)]
        case {"let": {**bindings}, "in": body, **extra} if not extra:
            return evaluate(body, environment | bindings)
        case -1 | 2 + 3j | None | True | Token.NAME | "text" | b"bytes":
            return None
        case []:
            return ()
        case _:
            raise TypeError(f"cannot evaluate {expression!r}"
                            f" in {sorted(environment)}")


def guarded(task, *handlers, default=None):
    try:
        return task()
    except* (ValueError, TypeError) as group:
        for handler in handlers:
            for failure in group.exceptions:
                handler(failure)
    except* OSError:
        pass
    finally:
        print("done", end="", file=None)


def tokens(text, matchers):
    position = 0
    while position < len(text):
        for kind, matcher in matchers.items():
            if (found := matcher.match(text, position)) is not None:
                yield kind, found.group()
                position = found.end()
                break
        else:
            bad = text[position]
            raise SyntaxError(f"{bad!a} at {position}: {text[:position]!r:.10}{{escaped}}")
    yield from ()


def tabulated(rows, separator=" | "):
    widths = [max(len(str(cell)) for cell in column) for column in zip(*rows)]
    with open("table.txt", "w") as target, open("log.txt", mode='a') as log:
        for row in rows:
            line = separator.join(f"{str(cell):<{width}}" for cell, width in zip(row, widths))
            target.write(line + "\n"); log.write(f"{len(line)}\n")
    return not rows or (lambda: (yield))
