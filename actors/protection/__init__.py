"""Protection: what becomes of each frame of the group, decided and stored in one transaction."""
