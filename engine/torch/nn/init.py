"""First numbers of parameters, as in torch.nn.init."""


def normal_(x, mean=0.0, std=1.0):
    with torch.no_grad():
        return x.normal_(mean, std)


def uniform_(x, a=0.0, b=1.0):
    with torch.no_grad():
        return x.uniform_(a, b)


def constant_(x, value):
    with torch.no_grad():
        return x.fill_(value)


def zeros_(x):
    return constant_(x, 0.0)


def ones_(x):
    return constant_(x, 1.0)


import torch  # noqa: E402
