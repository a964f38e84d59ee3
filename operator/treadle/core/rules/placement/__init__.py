"""Which queue an application belongs to, by either discipline's rules, and who may submit to it."""
