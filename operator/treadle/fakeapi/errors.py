"""Refusals as the API server words them: the ``Status`` object of apimachinery (pkg/api/errors)."""

from typing import Any

Json = dict[str, Any]


class ApiError(Exception):
    """A refusal with its HTTP code, reason and message; the server turns it into a Status body."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details, self.retry_after = code, reason, message, details or {}, retry_after

    def status(self) -> Json:
        """The Status object that a client reads."""
        said = {"message": self.message, "reason": self.reason, "details": self.details, "code": self.code}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"} | said


def not_found(what: str, name: str) -> ApiError:
    """404: `what` is ``pods`` or ``queues.treadle.dev``."""
    plural, _, group = what.partition(".")
    return ApiError(404, "NotFound", f'{what} "{name}" not found', {"name": name, "group": group, "kind": plural})


def conflict(what: str, name: str, why: str) -> ApiError:
    """409: the object is not what the writer thought it was."""
    return ApiError(409, "Conflict", f'Operation cannot be fulfilled on {what} "{name}": {why}', {"name": name, "kind": what})


def invalid(kind: str, name: str, *causes: str) -> ApiError:
    """422: each cause reads ``field: what is wrong``."""
    listed = [{"reason": "FieldValueInvalid", "field": cause.partition(":")[0], "message": cause} for cause in causes]
    text = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {text}', {"name": name, "kind": kind, "causes": listed})


def bad_request(message: str) -> ApiError:
    """400: the request itself cannot be understood."""
    return ApiError(400, "BadRequest", message)
