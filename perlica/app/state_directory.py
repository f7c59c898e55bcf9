"""The service's state directory: made where it is missing, or an explanation why it cannot be.

`app.run` asks for it before anything is opened; the command line says the fault on one line.
"""

import os
from pathlib import Path

from perlica.app.config.problems import Problem, filled
from perlica.domain.errors import Misconfigured
from perlica.domain.texts import Language, Text

_KEY = "service.state_dir"


class StateDirectoryUnusable(Misconfigured):
    """The state directory is not there and cannot be made, or cannot be written."""

    def __init__(self, problem: Problem) -> None:
        """Keep both languages; the error's own text is English, for logs."""
        self.problem = problem
        super().__init__(
            problem.code,
            f"{_KEY}: {problem.wrong.say(Language.en)}",
            remedy=problem.remedy.say(Language.en),
        )


def make_state_directory(path: Path) -> None:
    """Make the directory, mode 0700, unless it is there; look whether we can write in it.

    Raises: StateDirectoryUnusable.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable("state_dir_cannot_be_made", _UNMAKEABLE, path, error) from error
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise _unusable("state_dir_not_writable", _NOT_WRITABLE, path, None)


def _unusable(code: str, wrong: Text, path: Path, error: OSError | None) -> StateDirectoryUnusable:
    said = (error.strerror or type(error).__name__) if error else ""
    return StateDirectoryUnusable(
        Problem(
            key=_KEY,
            code=code,
            wrong=filled(wrong, path=str(path), said=said),
            remedy=filled(_REMEDY, path=str(path)),
        )
    )


_UNMAKEABLE = Text(
    zh="没有目录 {path}，也创建不了（{said}）",
    en="there is no directory {path}, and it cannot be made ({said})",
)
_NOT_WRITABLE = Text(
    zh="运行服务的用户不能读写 {path}", en="the service's user can not read and write {path}"
)
_REMEDY = Text(
    zh="以 root 执行：install -d -m 0700 -o 运行服务的用户 {path}",
    en="As root: install -d -m 0700 -o USER-OF-THE-SERVICE {path}",
)
