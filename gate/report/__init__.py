"""The report: facts of the node, every line, what is open and what is risky."""
