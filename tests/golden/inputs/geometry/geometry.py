import math, sys
from . import shapes as _shapes
from .shapes import Circle, Polygon as Poly
from ..units import *

origin = 0.0, 0.0
EPSILON = 1_000e-12
counter = 0


def distance(left, right=origin, /, *, scale: float = 1.0) -> float:
    dx, dy = left[0] - right[0], left[1] - right[1]
    return scale * math.sqrt(dx ** 2 + dy ** 2)


def make_counter(start=0, step=+1):
    count = start

    def advance():
        nonlocal count
        global counter
        count += step
        counter = counter + 1
        return count

    def reset(): 
        nonlocal count
        count = start; return None

    return advance, reset


def rotate(points, degrees, center=origin):
    angle = degrees % 360 / 180 * math.pi
    cosine, sine = math.cos(angle), math.sin(angle)
    center_x, center_y = center
    rotated = []
    for x, y in points:
        x, y = x - center_x, y - center_y
        rotated.append((center_x + x * cosine - y * sine, center_y + x * sine + y * cosine))
    return rotated


def bounding_box(points):
    xs = [x for x, _ in points]
    ys = [y for _, y in points]
    return (min(xs), min(ys)), (max(xs), max(ys))


def area(points):
    total = 0
    for (x1, y1), (x2, y2) in zip(points, points[1:] + points[:1]):
        total += x1 * y2 - x2 * y1
    else:
        total /= 2
    return abs(total) if total else -total


def is_inside(point, polygon):
    x, y = point
    inside = False
    for index, (x1, y1) in enumerate(polygon):
        x2, y2 = polygon[index - 1]
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside


def compose(*functions, **named):
    def composed(value):
        for function in reversed(functions):
            value = function(value, **named)
        return value

    return composed if functions else (lambda value, *rest: value)


def grid(width, height, cell=(1, 1), *, skip=frozenset({(0, 0)})):
    cells = {(i, j): (i * cell[0], j * cell[1]) for i in range(width) for j in range(height) if (i, j) not in skip}
    diagonal = [cells.get((k, k), ...) for k in range(min(width, height))][::2]
    matrix = cells @ ~width ^ height << 2 if width is not height and 0 <= width < height <= 100 else None
    del cells[0, 0], (matrix)
    assert diagonal, "empty"
    return cells, diagonal, 3j, 0xFF, 0b101, 0o17
