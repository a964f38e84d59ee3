"""What is looked at from time to time: reports to owners, overdue binds, lifetimes."""
