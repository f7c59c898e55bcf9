"""One module for each kind of page: reads the database of one moment, gives what a template shows.

Pages see a `PageContext` and no request; whatever they put into their fields is escaped by the
template.
"""
