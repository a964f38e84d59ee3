"""Whatever the API server accepts, in whatever order: objects made from the schemas, and what happens to them."""
