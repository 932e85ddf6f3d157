"""Plain NumPy twin of the statistics.

A second implementation of every number, after docs/statistics.md and its sources, with
NumPy and the standard library alone. It shares no code with the compiled kernels, so equal
bits from both are evidence that both follow the text. Arrays go in and come out; no object
of other parts, file or option crosses. Verification of releases runs on it.

Modules: ``analysis`` (all of it in one call), ``counter`` (random words), ``design`` (integers
and weights), ``products`` (exact sums of them), ``resample`` and ``bootstrap`` (anchor-cluster
bootstrap), ``signflip`` (anchor-cluster sign flips), ``decisions`` (ranks, multiplicity, groups,
effect sizes, correlations), ``portfolios`` (scores of all portfolios of a task).
"""
