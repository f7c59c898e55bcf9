"""`make demo`: the whole service on one machine, with stand-ins for QQ and the model.

`python -m perlica.app.demo` starts everything and prints the chat page's address; with `--script`
it does the main job unattended and checks that each part of it really happened.
"""
