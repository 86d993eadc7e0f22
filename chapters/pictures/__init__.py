"""Pictures that one or two chapters show, beside the chapters."""
