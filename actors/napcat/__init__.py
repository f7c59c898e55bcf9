"""The NapCat connection: the link, its readiness, where intake stands in the group's sequence."""
