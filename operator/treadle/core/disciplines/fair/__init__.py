"""The FairScheduler at work on the tree in force."""
