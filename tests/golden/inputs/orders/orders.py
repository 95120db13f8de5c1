"""Orders of a small shop: classes, decorators, annotations, properties."""

from __future__ import annotations

import functools
import logging
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal as Money
from typing import ClassVar, Iterable, Optional

logger = logging.getLogger(__name__)
DISCOUNTS: dict[str, float] = {"loyal": 0.05, 'staff': .2, """press""": 1e-1}


def logged(level: int = logging.DEBUG, *, prefix: str = ">>"):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            logger.log(level, "%s %s", prefix, function.__name__)
            return function(*args, **kwargs)

        return wrapper

    return decorate


@dataclass(frozen=True, order=True)
class OrderLine:
    sku: str
    quantity: int = 1
    unit_price: Money = Money("0.00")
    tags: tuple[str, ...] = field(default=(), compare=False)

    @property
    def total(self) -> Money:
        return self.quantity * self.unit_price

    @staticmethod
    def parse(raw_line: str) -> "OrderLine":
        sku, quantity, *rest = raw_line.split(";")
        unit_price = Money(rest[0]) if rest else Money(0)
        return OrderLine(sku.strip(), int(quantity), unit_price, tuple(rest[1:]))


class Order:
    open_orders: ClassVar[list["Order"]] = []
    last_number = 0

    def __init__(self, customer: str, lines: Iterable[OrderLine] = ()):
        Order.last_number += 1
        self.number, self.customer = Order.last_number, customer
        self._lines = list(lines)
        self.open_orders.append(self)

    def __len__(self) -> int: return len(self._lines)

    @logged(logging.INFO, prefix="order")
    def add(self, order_line: OrderLine, /, *more_lines: OrderLine) -> Order:
        self._lines.extend([order_line, *more_lines])
        return self

    @functools.cached_property
    def total(self) -> Money:
        subtotal = sum((line.total for line in self._lines), Money(0))
        rate = DISCOUNTS.get(self.customer, 0)
        return subtotal - subtotal * Money(rate)

    def by_tag(self) -> dict[str, list[OrderLine]]:
        groups: defaultdict[str, list[OrderLine]] = defaultdict(list)
        for order_line in self._lines:
            for tag in order_line.tags:
                groups[tag].append(order_line)
        return {tag: sorted(tagged) for tag, tagged in groups.items() if tagged}

    def cheapest(self, max_price: Optional[Money] = None) -> OrderLine | None:
        candidates = [line for line in self._lines if max_price is None or line.unit_price <= max_price]
        return min(candidates, key=lambda line: line.unit_price, default=None)

    @classmethod
    def merge(cls, first_order: Order, second_order: Order) -> Order:
        if first_order.customer != second_order.customer:
            raise ValueError(f"{first_order.customer!r} is not {second_order.customer!r}")
        merged = cls(first_order.customer, first_order._lines + second_order._lines)
        cls.open_orders = [order for order in cls.open_orders if order not in (first_order, second_order)]
        return merged
