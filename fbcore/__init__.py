"""Numbers only: arrays in, arrays out.

Kernels and inference for many models scored on shared, clustered tasks. Nothing
here knows files, names, models or food; :mod:`flavourbench` does.
"""
