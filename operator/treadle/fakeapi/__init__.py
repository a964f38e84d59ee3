"""The embedded API server for the demo and the tests: ``server.FakeApi``, and ``ticker.Ticker`` that lets bound pods run and end.

What it cannot do, the tests of the cluster tier do on a real API server.
"""

from treadle.fakeapi.errors import ApiError
from treadle.fakeapi.server import FakeApi
from treadle.fakeapi.ticker import Ticker

__all__ = ["ApiError", "FakeApi", "Ticker"]
