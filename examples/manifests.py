"""A short function to try `rarename anonymize` on: some of its names are common, some are nobody else's."""

import json
import os


def merge_manifests(manifest_paths, salvage_dir=None):
    """Merge manifests; the ones that cannot be read are moved to `salvage_dir`."""
    merged = {}
    for manifest_path in manifest_paths:
        try:
            with open(manifest_path) as manifest_file:
                merged.update(json.load(manifest_file))
        except ValueError:
            if salvage_dir is None:
                raise
            os.rename(manifest_path, os.path.join(salvage_dir, os.path.basename(manifest_path)))
    return merged
