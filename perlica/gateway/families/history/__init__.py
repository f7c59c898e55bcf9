"""The history family: bounded reads of the group's protected history."""
