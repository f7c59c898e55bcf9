"""The native runtime: one HTTP request to the model, one turn."""
