"""Capabilities: what can be switched off without stopping the service, each judged by itself."""
