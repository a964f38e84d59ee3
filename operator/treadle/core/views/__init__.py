"""What only reads."""
