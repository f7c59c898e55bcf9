"""`make check`: everything about the tree that can be judged without running it.

`commands` are the linters of others, `texts` and `shapes` our own rules from CONTRIBUTING.md.
"""
