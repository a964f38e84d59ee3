"""YARN's FairScheduler: shares and the policies that order queues and applications."""
