"""The folders of the module, and what a reader of the model reads."""

from tests.helpers.project import ROOT

MODULE = ROOT / "tformer_lite"
MODEL = MODULE / "model"
OTHER_PARTS = MODULE / "parts"
# What a reader of the model reads: five files have it whole.
SITTING = "config", "masks", "layers", "attention", "models"
