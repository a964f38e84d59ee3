"""Our own kinds: kopf hands in what users wrote, the ledger makes events of it, and status goes back.

Nothing is decided here.
"""
