"""Rules over the sandbox store and a backend: the contract, and what may be done when."""
