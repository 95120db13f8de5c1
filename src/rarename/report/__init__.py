"""Many small result files → one report; without torch, from the files alone.

Reading order: `results` (a file), `studies` (the files that may stand in one table), `statistics` (what may be said of
two of them), `paper` (its numbers), `tables` and `charts` (what is shown of a study), `claims` (what the paper says,
and what the results say), `report` (all of it, in order), `document`, `svg`, `markdown` and `html` (how it is written).
"""
