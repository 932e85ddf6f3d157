"""Figures of the released 27-model analysis and the table reconstructed from them."""
