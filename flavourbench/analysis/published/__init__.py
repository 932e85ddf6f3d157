"""The published release layout: task file, observations, and the two tables of figures."""

from flavourbench.analysis.published.compare import compared
from flavourbench.analysis.published.exporting import export_release
from flavourbench.analysis.published.importing import Imported, import_folder

__all__ = ["Imported", "compared", "export_release", "import_folder"]
