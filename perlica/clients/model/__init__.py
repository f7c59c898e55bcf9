"""The one door to language models: what a turn is, and the clients that fetch one over HTTP.

Used by `perlica.runtimes.native.runtime`; `perlica.app` chooses the client with
`perlica.clients.model.opening`. Importing this package costs no HTTP library: that is loaded with
`perlica.clients.model.openai` or `.anthropic`.
"""
