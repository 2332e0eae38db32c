"""The program's version, once."""

VERSION = "0.1.0"
