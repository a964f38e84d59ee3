"""Treadle: a batch scheduler for Kubernetes with YARN's queues, shares and explanations.

The packages are layered, and import-linter keeps them so: ``cli`` over ``runtime`` over the adapters (``controllers``,
``web``, ``metrics``, ``fakeapi``) over ``kube`` over ``api`` over ``core``. The core is a pure function of history.
"""

__version__ = "0.1.0"
