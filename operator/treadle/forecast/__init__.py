"""When waiting applications will start and end: the core run forward in virtual time on what it knows."""
