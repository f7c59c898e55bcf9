"""Addresses of the interface, one function for each resource.

Private to `sandboxd.wire`, which offers all of it under one name.
"""

from typing import Final

HEALTH_PATH: Final = "/v1/health"
IMAGES_PATH: Final = "/v1/images"
SANDBOXES_PATH: Final = "/v1/sandboxes"
OPERATIONS_PATH: Final = "/v1/operations"
USE_PATH: Final = "/v1/use"
LOG_PATH: Final = "/v1/log"
GARBAGE_PATH: Final = "/v1/garbage"


def sandbox_path(name: str) -> str:
    """Path of one sandbox: GET its state, DELETE it."""
    return f"{SANDBOXES_PATH}/{name}"


def exec_path(name: str) -> str:
    """POST an ExecRequest."""
    return f"{sandbox_path(name)}/exec"


def stop_path(name: str) -> str:
    """POST a StopRequest."""
    return f"{sandbox_path(name)}/stop"


def read_file_path(name: str) -> str:
    """POST a ReadFileRequest."""
    return f"{sandbox_path(name)}/files/read"


def write_file_path(name: str) -> str:
    """POST a WriteFileRequest."""
    return f"{sandbox_path(name)}/files/write"


def list_files_path(name: str) -> str:
    """POST a ListFilesRequest."""
    return f"{sandbox_path(name)}/files/list"


def operation_path(operation: str) -> str:
    """GET an OperationReport."""
    return f"{OPERATIONS_PATH}/{operation}"


def cancel_path(operation: str) -> str:
    """POST, without a body, from a second connection."""
    return f"{operation_path(operation)}/cancel"


def acknowledge_path(operation: str) -> str:
    """POST, without a body, once the outcome is stored on the caller's side."""
    return f"{operation_path(operation)}/ack"
