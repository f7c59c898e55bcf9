"""Where things lie inside the state directory; the one place that knows their names."""

from pathlib import Path

_DATABASE_NAME = "perlica.db"
_BACKUPS_NAME = "backups"


def database_path(state_dir: Path) -> Path:
    """The database's file."""
    return state_dir / _DATABASE_NAME


def backups_path(state_dir: Path) -> Path:
    """Where `perlica backup` puts backups unless it is told another place."""
    return state_dir / _BACKUPS_NAME
