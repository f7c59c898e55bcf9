"""What an image says about commands in it: Env, WorkingDir and User of its configuration.

Read at the import, kept beside the image, the base of each command of its sandboxes.
"""

from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from sandboxd.faults import Refused

_MAX_WORDS: Final = 256
_MAX_WORD_BYTES: Final = 32 * 1024
_MAX_NAME_BYTES: Final = 256


class CommandBase(BaseModel):
    """`user` is as the image has it (`name`, `uid`, `name:group`, ...): the sandbox resolves it."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    env: tuple[tuple[str, str], ...] = ()
    working_dir: str = "/"
    user: str = ""

    @field_validator("env")
    @classmethod
    def _is_an_environment(cls, env: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        if len(env) > _MAX_WORDS:
            raise ValueError("too many variables")
        for name, value in env:
            if not name or "\0" in name + value or len((name + value).encode()) > _MAX_WORD_BYTES:
                raise ValueError("a variable is not one, or too long")
        return env

    @field_validator("working_dir")
    @classmethod
    def _is_a_directory(cls, path: str) -> str:
        if "\0" in path or len(path.encode()) > _MAX_WORD_BYTES:
            raise ValueError("WorkingDir is not a path")
        return path if path.startswith("/") else f"/{path}"

    @field_validator("user")
    @classmethod
    def _is_a_user(cls, user: str) -> str:
        if "\0" in user or "\n" in user or len(user.encode()) > _MAX_NAME_BYTES:
            raise ValueError("User is not a user")
        return user


def read_base(config: object) -> CommandBase:
    """The `config` object of an image's configuration. Raises: Refused when it is of another shape.

    An entry of Env without a sign of equality is left out, as other programs do.
    """
    said = config if isinstance(config, dict) else {}
    env = said.get("Env") or []
    if not isinstance(env, list) or not all(isinstance(word, str) for word in env):
        raise Refused("Env of the image is not a list of words")
    pairs = dict(word.split("=", 1) for word in env if "=" in word)
    try:
        return CommandBase(
            env=tuple(pairs.items()),
            working_dir=said.get("WorkingDir") or "/",
            user=said.get("User") or "",
        )
    except ValidationError as error:
        raise Refused(f"the image's configuration: {error.errors()[0]['msg']}") from error
