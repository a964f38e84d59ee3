"""Pods as the core knows them: their states, what is counted for each, and how that follows the API server."""
