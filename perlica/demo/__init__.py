"""Stand-ins for the outside world: QQ behind NapCat, and a language model.

They know nothing of Perlica beyond the wire: `make demo` and the tests start them in its place.
"""
