# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The encoder in C, as it is used."""
include "_shared.pxi"
