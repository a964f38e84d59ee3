"""Coming from Hadoop: YARN's configuration files read as Hadoop reads them, and written as our objects."""
