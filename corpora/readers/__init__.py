"""Readers of files and folders: text lines, whole files, JSONL, Parquet; plain, gzip or zstd."""
