"""YARN's REST on our port: reservations in Hadoop's JSON, and what its resource estimator answers. All of it goes through the API server; nothing is kept here."""
