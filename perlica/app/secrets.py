"""Secrets: read from files only, and never shown by accident.

The configuration names the files; wiring reads them once and hands each to the one client that
needs it. A file must be ours with mode 0600, or lie in a mounted directory (a Kubernetes Secret,
whose files are symbolic links into `..data`) and not be readable by everybody.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from perlica.app.config import Config
from perlica.app.config.problems import filled
from perlica.app.descriptor import opened, read_at_most
from perlica.domain.errors import Misconfigured
from perlica.domain.texts import Language, Text

MAX_SECRET_BYTES = 16 * 1024

_OTHERS = stat.S_IRWXO
_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_FOREIGN_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Secret:
    """A secret's value that no repr, format or pickle shows; only `reveal` gives it."""

    __slots__ = ("_key", "_value")

    def __init__(self, key: str, value: str) -> None:
        """Keep the value; `key` is the setting it came from and may be shown."""
        self._key = key
        self._value = value

    def reveal(self) -> str:
        """The value, for the one client that needs it."""
        return self._value

    def __repr__(self) -> str:
        """Name the setting, not the value."""
        return f"<secret of {self._key}>"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        """Never leave the process."""
        raise TypeError("a secret cannot be pickled or copied")


class SecretInvalid(Misconfigured):
    """A secret's file cannot be used; the texts name the setting and the file's fault."""

    def __init__(self, code: str, *, key: str, path: Path, wrong: Text, remedy: Text) -> None:
        """Keep both languages; the error's own text is English, for logs."""
        self.key = key
        self.path = path
        self.wrong = wrong
        self.fix = remedy
        said = wrong.say(Language.en)
        super().__init__(code, f"{key}: {path}: {said}", remedy=remedy.say(Language.en))

    def say(self, language: Language) -> str:
        """Setting, file, what is wrong and what to do, on one line."""
        return _SENTENCE.say(
            language,
            key=self.key,
            path=str(self.path),
            wrong=self.wrong.say(language),
            remedy=self.fix.say(language),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Everything secret that the configuration names; `model_key` is None for a model inside.

    `console_proxy` is None where no proxy is trusted.
    """

    napcat_token: Secret
    model_key: Secret | None
    console_proxy: Secret | None = None

    def values(self) -> tuple[str, ...]:
        """The bare values, for the log's formatter to hide."""
        named = (self.napcat_token, self.model_key, self.console_proxy)
        return tuple(secret.reveal() for secret in named if secret)


def secret_files(config: Config) -> tuple[tuple[str, Path], ...]:
    """Setting and path of every secret's file."""
    files = [("napcat.token_file", config.napcat.token_file)]
    if config.model.key_file is not None:
        files.append(("model.key_file", config.model.key_file))
    if config.console.proxy_secret_file is not None:
        files.append(("console.proxy_secret_file", config.console.proxy_secret_file))
    return tuple(files)


def read_secrets(config: Config) -> Secrets:
    """Read all secrets.

    Raises: SecretInvalid for the first file that cannot be used.
    """
    found = {key: read_secret(path, key=key) for key, path in secret_files(config)}
    return Secrets(
        napcat_token=found["napcat.token_file"],
        model_key=found.get("model.key_file"),
        console_proxy=found.get("console.proxy_secret_file"),
    )


def read_secret(path: Path, *, key: str, owner: int | None = None) -> Secret:
    """Read one secret: a single line of visible ASCII, one line end at its end allowed.

    `owner` is the user whose file it has to be, this process's unless somebody looks for another.

    Raises: SecretInvalid.
    """
    owner = os.geteuid() if owner is None else owner
    try:
        with opened(path) as descriptor:
            fault = _fault_of(os.fstat(descriptor), path, owner)
            raw = b"" if fault else read_at_most(descriptor, MAX_SECRET_BYTES)
    except FileNotFoundError:
        raise _invalid("secret_missing", key, path) from None
    except OSError:
        raise _invalid("secret_unreadable", key, path) from None
    if fault:
        raise _invalid(fault, key, path)
    return Secret(key, _text_of(raw, key, path))


def _fault_of(status: os.stat_result, path: Path, owner: int) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return "secret_not_a_file"
    ours = status.st_uid == owner
    mounted = _is_in_mount(path) and status.st_uid in {0, owner}
    if not ours and not mounted:
        return "secret_not_ours"
    forbidden = _OTHERS | stat.S_IWGRP if mounted else _GROUP_AND_OTHERS
    if status.st_mode & forbidden:
        return "secret_open_in_mount" if mounted else "secret_open"
    directory = path.parent.stat()
    if directory.st_mode & _FOREIGN_WRITE and not directory.st_mode & stat.S_ISVTX:
        return "secret_directory_open"
    return None


def _is_in_mount(path: Path) -> bool:
    """Whether the file's directory is a mount point of its own, other than the root."""
    directory = path.parent.resolve()
    return directory != Path("/") and directory.is_mount()


def _text_of(raw: bytes, key: str, path: Path) -> str:
    if len(raw) > MAX_SECRET_BYTES:
        raise _invalid("secret_too_large", key, path)
    text = raw.decode("ascii", "replace").removesuffix("\n").removesuffix("\r")
    if not text:
        raise _invalid("secret_empty", key, path)
    if not all("!" <= character <= "~" for character in text):
        raise _invalid("secret_not_a_word", key, path)
    return text


def _invalid(code: str, key: str, path: Path) -> SecretInvalid:
    wrong, remedy = _FAULTS[code]
    return SecretInvalid(
        code, key=key, path=path, wrong=wrong, remedy=filled(remedy, path=str(path))
    )


_SENTENCE = Text(zh="{key}：{path}：{wrong}。{remedy}。", en="{key}: {path}: {wrong}. {remedy}.")
_FAULTS = {
    "secret_missing": (
        Text(zh="文件不存在", en="the file does not exist"),
        Text(
            zh="把密钥写进 {path}，再执行 chmod 600 {path}",
            en="write the secret into {path}, then chmod 600 {path}",
        ),
    ),
    "secret_unreadable": (
        Text(zh="文件读不了", en="the file cannot be read"),
        Text(
            zh="让运行服务的用户拥有 {path}（chown）",
            en="let the service's user own {path} (chown)",
        ),
    ),
    "secret_not_a_file": (
        Text(zh="不是普通文件", en="it is no regular file"),
        Text(zh="{path} 要指向一个文件", en="let {path} be a file"),
    ),
    "secret_not_ours": (
        Text(zh="文件不属于运行服务的用户", en="the file is not owned by the service's user"),
        Text(
            zh="让运行服务的用户拥有 {path}（chown），权限 0600",
            en="let the service's user own {path} (chown), mode 0600",
        ),
    ),
    "secret_open": (
        Text(zh="别的用户能读或写这个文件", en="other users can read or write the file"),
        Text(zh="执行 chmod 600 {path}", en="chmod 600 {path}"),
    ),
    "secret_open_in_mount": (
        Text(
            zh="挂载的文件所有人可读，或同组可写",
            en="the mounted file is readable by everybody or writable by its group",
        ),
        Text(
            zh="在 Secret 卷上设置 defaultMode: 0440 和 fsGroup",
            en="set defaultMode: 0440 and fsGroup on the Secret's volume",
        ),
    ),
    "secret_directory_open": (
        Text(
            zh="别的用户能改写所在目录，也就能换掉文件",
            en="others can write its directory and so replace the file",
        ),
        Text(zh="对所在目录执行 chmod go-w：{path}", en="chmod go-w the directory of {path}"),
    ),
    "secret_too_large": (
        Text(zh="文件超过 16 KiB", en="the file is larger than 16 KiB"),
        Text(zh="{path} 里只放密钥本身", en="let {path} hold the secret alone"),
    ),
    "secret_empty": (
        Text(zh="文件是空的", en="the file is empty"),
        Text(
            zh="把密钥写进 {path}（NapCat 的 token 两边要一致）",
            en="write the secret into {path} (a token of NapCat must be the same on both sides)",
        ),
    ),
    "secret_not_a_word": (
        Text(
            zh="内容不是一行可见的 ASCII 字符",
            en="the content is not one line of visible ASCII characters",
        ),
        Text(
            zh="{path} 里只放密钥：没有空格、引号、注释、第二行和 BOM",
            en="let {path} hold the secret alone: no space, comment, second line or BOM",
        ),
    ),
}
