"""Errors of YARN's configuration files: the user's, with the line."""


class AllocationError(Exception):
    """An allocation file that the FairScheduler would refuse; ``line`` is where, ``hadoop`` the exception that Hadoop throws."""

    def __init__(self, line: int, message: str, hadoop: str = "AllocationConfigurationException") -> None:
        self.line = line
        self.message = message
        self.hadoop = hadoop
        super().__init__(f"line {line}: {message} (Hadoop: {hadoop})")


class MappingError(Exception):
    """Mapping rules that the CapacityScheduler would refuse; ``hadoop`` is the exception that Hadoop throws, inside its YarnException."""

    def __init__(self, message: str, hadoop: str) -> None:
        self.message = message
        self.hadoop = hadoop
        super().__init__(f"{message} (Hadoop: {hadoop})")
