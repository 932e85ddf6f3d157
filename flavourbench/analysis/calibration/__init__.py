"""How often the analysis is right: many studies of known truth, analysed and counted."""

#: Clusters from which on pointwise intervals of scores and differences hold their level within
#: 1.5 points, and those from which on bands do, which hold together. docs/calibration.md has the
#: evidence, and the kinds of scores that need more.
LEAST_POINTWISE = 50
LEAST_CLUSTERS = 200
