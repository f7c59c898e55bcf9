"""What a run of the tests may leave behind on a machine, and finding out whether it did.

`.ci/run` takes a snapshot before it begins and compares at the end. Nothing is ended or deleted
here: a leftover is a fault of a test or of the product, and has to be seen.
"""
