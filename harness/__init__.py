"""The runner: contracts, vocabularies, hosts, comparison, store and commands."""
