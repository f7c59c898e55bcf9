"""Which acceptance item of the specification is shown by which test.

`items` names the twenty items, `pending` reads what is still open, `judgement` decides, `plugin`
ties it to pytest and writes build/evidence.json.
"""
