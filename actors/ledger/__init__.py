"""The approval ledger: tickets are decided once, or expire."""
