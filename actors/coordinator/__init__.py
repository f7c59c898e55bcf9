"""The task coordinator: the active task's state, dot commands, deadlines, progress."""
