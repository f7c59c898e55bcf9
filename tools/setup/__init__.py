"""Makes a fresh checkout ready to run: system packages, virtual environment, native part.

Runs before anything is installed, so it uses Python's own library alone. Called by the Makefile.
"""
