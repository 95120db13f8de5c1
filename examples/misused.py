"""Functions for `rarename check`: each one except the last uses a wrong variable."""


def load(myfnm):
    with open(myfnm) as myfp:
        data = myfnm.read()
    return data


def read_numbers(path):
    numbers = []
    with open(path) as stream:
        for line in path:
            numbers.append(float(line))
    return numbers


def crop(image, left, top, right, bottom):
    width = right - left
    height = bottom - left
    if width <= 0 or height <= 0:
        raise ValueError("nothing is left of the image")
    return image.region(left, top, width, height)


def copy_settings(source, target, overwrite=False):
    for key, value in source.items():
        if overwrite or key not in source:
            target[key] = value
    return target


def merge(first, second):
    merged = dict(first)
    for key, value in second.items():
        merged[key] = value
    return merged
