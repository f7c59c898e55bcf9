"""Small changes of the code, one at a time, that some test should notice."""
