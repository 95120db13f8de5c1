"""A file that somebody is still writing."""

import os


def rename_all(folder, old_suffix, new_suffix):
    renamed = []
    for name in os.listdir(folder):
        if name.endswith(old_suffix):
            target = name[: -len(old_suffix)] + new_suffix
            os.rename(os.path.join(folder, name), os.path.join(folder, tar
            renamed.append(target)
    return renamed


class Renamer:
    def __init__(self, folder, dry_run=False):
        self.folder = folder
        self.dry_run = dry_run

    def run(self, old_suffix, new_suffix):
        if self.
        return rename_all(self.folder, old_suffix,
