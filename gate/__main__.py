"""`python -m gate` is `sandboxd gate`, which starts it so."""

from gate.cli import main

main(prog_name="sandboxd gate")
