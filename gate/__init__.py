"""The rootfs gate: checks on a real node, without which sandboxes stay experimental.

It starts a sandboxd of its own on the target file system, puts every promise of the root file
system and of the containment to the test, and writes a report. `gate.cli:main` is the way in.
"""
