"""Functions in which one variable is used in place of another."""

import json


def read_lines(file_name):
    with open(file_name) as handle:
        lines = file_name.readlines()
    return lines


def area_of(width, height):
    return width * width


def sum_columns(table):
    totals = {}
    for row in table:
        for column, amount in table.items():
            totals[column] = totals.get(column, 0) + amount
    return totals


def set_range(self, low, high):
    self.low = low
    self.high = low


def save_report(report, target_path):
    with open(target_path, "w") as target_file:
        json.dump(report, target_path)


def largest_gap(values):
    gap = 0
    for previous, current in zip(values, values[1:]):
        if current - current > gap:
            gap = current - previous
    return gap


def send_invites(store, user_id):
    invites = store.invites_for(user_id)
    return [invites.event_id for invite in invites]


def swap_items(items, first_index, second_index):
    kept = items[first_index]
    items[first_index] = items[second_index]
    items[first_index] = kept
    return items


def clip(number, minimum, maximum):
    if number < minimum:
        return minimum
    if number > minimum:
        return maximum
    return number


def silenced(file_name):
    with open(file_name) as handle:
        return file_name.read()  # noqa: RN001


class Cache:
    def __init__(self, loader, max_size=10):
        self.loader = loader
        self.max_size = loader
        self.entries = {}

    def get(self, key, default=None):
        if key not in self.entries:
            value = self.loader(key)
            self.entries[key] = default

            def refresh(other_key):
                self.entries[key] = self.loader(other_key)

            return value, refresh
        return self.entries[key], None
