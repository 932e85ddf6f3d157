"""``fb freeze``: the common core of a study."""

from __future__ import annotations

from flavourbench.cli.common import Json, echo_json, load_arrow
from flavourbench.cli.studies import StudyFolder, study_of

EXAMPLES = """\b
Examples:
  fb freeze                     the study here or above
  fb freeze my-study --json     the whole record"""


def command(study: StudyFolder = None, json_output: Json = False) -> None:
    """Freeze the common core: the tasks that every model answered validly.

    It is chosen from outcomes alone, in the order of a digest of seed and task id; no score is
    looked at. Seed and size stand in study.toml. A core is never overwritten: other inputs make
    another one in cores/.
    """
    load_arrow()
    from flavourbench.analysis.cores import freeze_study

    chosen = study_of(study)
    tasks = chosen.read_tasks()
    core, path, new = freeze_study(chosen, tasks)
    if json_output:
        echo_json({"core": str(path), "new": new, **core.content})
        return
    from flavourbench.report.core import print_core

    print_core(core, str(path), new=new)
