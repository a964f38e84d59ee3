"""How YARN's two schedulers steer the kernel."""
