"""The session room: what a model is shown, what its turn means, and the loop that takes turns.

Between the task's rows (`perlica.stores`) and the gateway; `actors.session` runs it.
"""
