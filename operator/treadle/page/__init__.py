"""The live page: its files, what it shows as rows, and the stream of those that change."""
