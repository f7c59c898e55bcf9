"""One door to each outside thing: every library's types and errors end here."""
