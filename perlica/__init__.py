"""Perlica: the assistant of one trusted QQ group, without its threads (those live in `actors`)."""

__version__ = "0.1.0"
