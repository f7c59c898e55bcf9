"""The outbox: paced sending, and settling what nobody confirmed."""
