"""The configuration: one TOML file, closed and finite, and what can be wrong with it.

The command line loads it before anything else; wiring hands its values down, nobody below `app`
imports it.
"""

from perlica.app.config.problems import ConfigInvalid, Problem
from perlica.app.config.reading import load_config, parse_config
from perlica.app.config.root import Config

__all__ = ["Config", "ConfigInvalid", "Problem", "load_config", "parse_config"]
