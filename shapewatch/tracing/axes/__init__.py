"""Naming axes: probes at other sizes, and formulas that fit them."""
