"""The reconciler: what nobody else would notice, looked at again and again."""
