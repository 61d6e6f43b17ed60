#!/bin/sh
# Prints every C++ file of hearth, one per line, sorted. Run it from the repository's root; needs no git.
exec find src include tests bench examples -name '*.h' -o -name '*.inl' -o -name '*.cpp' | LC_ALL=C sort
