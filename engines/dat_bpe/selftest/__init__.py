"""The encoder checks itself against the Unicode files, the rank files and the published vectors.

`python -m tokassay.engines.dat_bpe.selftest`: exit 0 if every check holds, 1 if one does not, 2 for wrong usage.
"""
