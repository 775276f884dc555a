"""The static site: what stores hold, as pages that need no script and no network. One kind of page a file."""
