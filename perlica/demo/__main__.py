"""`python -m perlica.demo`: see `command_line`."""

import sys

from perlica.demo.command_line import main

sys.exit(main())
