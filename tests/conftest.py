"""Tests use the shipped thresholds, whatever `reactant calibrate` has stored on this machine."""
import os

os.environ["REACTANT_CALIBRATION"] = "off"
