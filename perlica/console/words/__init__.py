"""Every word of the console's own, in Chinese and English, by a dotted name.

Templates and pages ask for them through `perlica.console.wording`; a test holds that no name is
missing and none is left over.
"""

from collections.abc import Mapping

from perlica.console.words.frame import FRAME
from perlica.console.words.lists import LISTS
from perlica.console.words.works import WORKS
from perlica.domain.texts import Text

WORDS: Mapping[str, Text] = {**FRAME, **LISTS, **WORKS}
