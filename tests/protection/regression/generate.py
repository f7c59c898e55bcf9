"""Writes the regression corpus: redacted samples and what was found, for the evidence of a release.

    python -m tests.protection.regression.generate

The raw texts are made up again from the seeds at every run; only their redacted form is committed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perlica.protection import POLICY_VERSION, Channel, protect
from tests.protection.made import KEYED, TOKENS, Dice, mnemonic, pem
from tests.protection.test_contexts import ADDRESSES, CHINESE, COMMANDS, FILES, HEADERS
from tests.protection.test_evasions import ALTERED, WRAPPED

FOLDER = Path(__file__).parent
SEED = 20261130


def samples() -> Iterator[tuple[str, str, str]]:
    """Yield file, name and raw text of each sample."""
    dice = Dice(SEED)
    for kind, make in TOKENS.items():
        yield "tokens", kind, f"部署用 {make(dice)} 谢谢"
    for kind, (name, make) in KEYED.items():
        yield "keyed", kind, f"APP_ENV=production\n{name}={make(dice)}\nPORT=8080"
    for forms, name in (
        (CHINESE, "chinese"),
        (COMMANDS, "commands"),
        (ADDRESSES, "addresses"),
        (FILES, "files"),
    ):
        for form in forms:
            yield name, form.split("\n", maxsplit=1)[0], form.format(dice.password())
    for form in HEADERS:
        yield "headers", form, form.format(dice.mixed(40))
    yield "private_keys", "whole", pem(dice)
    yield "private_keys", "cut off", "\n".join(pem(dice).split("\n")[:4])
    yield "private_keys", "recovery phrase", f"助记词：{mnemonic(dice)}"
    for name, text in ALTERED.items():
        yield "evasions", name, f"用 {text} 登录"
    for name, wrap in WRAPPED.items():
        if "zip" not in name and "zlib" not in name:  # the bytes differ between library versions
            yield "evasions", name, wrap(f"db_password={dice.password()}\nend")


def rows() -> dict[str, list[dict[str, Any]]]:
    """Return the redacted samples by file."""
    made: dict[str, list[dict[str, Any]]] = {}
    for file, name, text in samples():
        protected = protect(text, Channel.MESSAGE)
        made.setdefault(file, []).append(
            {
                "name": name,
                "policy_version": POLICY_VERSION,
                "status": protected.status.value,
                "redacted": protected.content,
                "findings": [{"kind": f.kind, "rule": f.rule} for f in protected.findings],
            }
        )
    return made


def main() -> None:
    """Write one file for each family."""
    for file, made in rows().items():
        lines = (json.dumps(row, ensure_ascii=False) for row in made)
        (FOLDER / f"{file}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
