"""`python -m perlica.app.cli` is `perlica`."""

from perlica.app.cli.group import main

if __name__ == "__main__":
    main(prog_name="perlica")
