"""Errors of the API layer, by blame: how we were set up, or what the server said."""


class KubeError(Exception):
    """The base of everything that ``treadle.kube`` raises."""


class CredentialsError(KubeError):
    """The kubeconfig or the service account cannot be used; the message says which file and why."""


class ApiError(KubeError):
    """The server answered with a status that the caller did not expect."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        """Keep the HTTP ``status``, the ``reason`` of the Status object and its ``message``."""
        self.status = status
        self.reason = reason
        self.message = message
        super().__init__(f"{status} {reason}: {message}")


class Unreachable(KubeError):
    """No answer: refused, reset, timed out. Nothing is known about what the server did."""


class Withheld(Unreachable):
    """The request was not sent, since this instance has no right to write any more: somebody else may lead."""
