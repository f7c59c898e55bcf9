"""`perlica doctor`: is everything there that a start needs, and what to do where it is not.

Each check is a small function that gives findings; `examination` runs them all, whatever fails.
"""
