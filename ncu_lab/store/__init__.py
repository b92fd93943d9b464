"""Runs on disk: one self-describing directory each; plain files are the truth."""

from ncu_lab.store.directory import Store, run_label
from ncu_lab.store.location import default_store

__all__ = ["Store", "default_store", "run_label"]
