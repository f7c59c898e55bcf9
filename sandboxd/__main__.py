"""`python -m sandboxd` is the command line."""

from sandboxd.cli import main

main(prog_name="sandboxd")
