"""Storage as scheduling sees it: what is known of it, what pods' volumes come to, what is in use on nodes, and the claims that are being bound."""
