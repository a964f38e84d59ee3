"""What applications have used, when, and how they ended, and what queues have held: kept in SQLite or PostgreSQL for those who look back and for estimates."""
