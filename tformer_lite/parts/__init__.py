"""Other forms of the model's parts, each in the place of one of them.

As the five sources write them (`variants`), as models do since 2017
(`modern`, and `efficient` for what saves work), and a frozen BERT in place of
an embedding (`bert`). A `Config` chooses them by name: model/choices.py.
"""
