"""What Colab has."""

# August 2026. The last three are what IPython 7 needs and 9 does not.
COLAB = ["matplotlib==3.10.*", "seaborn==0.13.*", "ipython==7.34.*"]
COLAB += ["backcall", "decorator", "pickleshare"]
