"""The only code that talks to an API server: credentials, transport, typed wire objects, list and watch, binds and status."""
