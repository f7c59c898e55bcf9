"""What Perlica itself says, in Chinese and English, and how foreign text is made visible inside it.

Pure. Rooms above say their own texts with `Text`; answers to dot commands stand in
`perlica.commands.texts`.
"""

from perlica.domain.texts.escape import clip_line, escape_visible, sanitise_lines
from perlica.domain.texts.language import Language, Text, say_duration, say_list, say_time

__all__ = [
    "Language",
    "Text",
    "clip_line",
    "escape_visible",
    "sanitise_lines",
    "say_duration",
    "say_list",
    "say_time",
]
