"""Tables of a journal. Rows of what happened are never changed or removed.

A cell is one task over one route in one repeat; it is asked in attempts, and an attempt that is
read may end it with an outcome. A cell that ended in ``transport`` may be reopened: its next
round ends it anew, and the latest round counts.
"""

from __future__ import annotations

FORMAT = 1
#: "fbj1", so that a journal is known by its first bytes.
APPLICATION = 0x66626A31

#: What happened: appended, never changed.
_HISTORY = ("route", "block", "name", "task", "cell", "blob", "attempt", "reading")

_TABLES = """
CREATE TABLE route (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL            -- canonical JSON that the digest covers
) STRICT;
CREATE TABLE block (               -- routes of a slot, in the order in which they came
  slot TEXT NOT NULL,
  number INTEGER NOT NULL,
  route_id INTEGER NOT NULL REFERENCES route,
  simulated INTEGER NOT NULL,
  began_at INTEGER NOT NULL,       -- microseconds since 1970, as all times
  PRIMARY KEY (slot, number)
) STRICT;
CREATE TABLE name (                -- display names of a slot; the latest counts
  id INTEGER PRIMARY KEY,
  slot TEXT NOT NULL,
  name TEXT NOT NULL
) STRICT;
CREATE TABLE task (
  id INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL,
  prompt_sha256 TEXT NOT NULL,
  panel TEXT NOT NULL,
  family TEXT NOT NULL,
  UNIQUE (task_id, prompt_sha256)
) STRICT;
CREATE TABLE cell (
  id INTEGER PRIMARY KEY,
  route_id INTEGER NOT NULL REFERENCES route,
  task INTEGER NOT NULL REFERENCES task,
  repeat INTEGER NOT NULL,
  UNIQUE (route_id, task, repeat)
) STRICT;
CREATE TABLE blob (                -- no index by digest: its random order would double each write
  id INTEGER PRIMARY KEY,
  sha256 BLOB NOT NULL,            -- of the bytes before compression
  data BLOB NOT NULL               -- zlib
) STRICT;
CREATE TABLE attempt (             -- one a request; written before its answer is read
  id INTEGER PRIMARY KEY,
  cell_id INTEGER NOT NULL REFERENCES cell,
  round INTEGER NOT NULL,
  collector_id INTEGER NOT NULL,
  request_id INTEGER NOT NULL REFERENCES blob,
  began_at INTEGER NOT NULL,
  latency INTEGER NOT NULL,        -- microseconds
  status INTEGER,
  headers TEXT NOT NULL,           -- JSON, secrets removed
  body_id INTEGER NOT NULL REFERENCES blob,
  error TEXT,
  message TEXT NOT NULL
) STRICT;
CREATE INDEX attempt_of_cell ON attempt (cell_id);
CREATE TABLE reading (             -- what an attempt was found to be
  attempt_id INTEGER PRIMARY KEY REFERENCES attempt,
  cell_id INTEGER NOT NULL,
  round INTEGER NOT NULL,
  kind TEXT NOT NULL,
  outcome TEXT,                    -- of the cell, if this attempt ended it
  reason TEXT NOT NULL,
  flags TEXT NOT NULL,
  served TEXT,
  provider TEXT,
  finish_reason TEXT,
  usage TEXT,                      -- JSON, as sent
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  estimated INTEGER NOT NULL,
  micro_dollars INTEGER,           -- by the prices of the roster
  gateway_micro_dollars INTEGER    -- as the gateway says, which wins
) STRICT;
CREATE UNIQUE INDEX one_outcome ON reading (cell_id, round) WHERE outcome IS NOT NULL;
CREATE TABLE collector (           -- processes that write here
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  boot TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started REAL NOT NULL,           -- the process, as its system counts
  patience REAL NOT NULL,          -- seconds of silence after which another host gives it up
  seen_at INTEGER NOT NULL
) STRICT;
CREATE TABLE claim (               -- cells being asked now
  cell_id INTEGER PRIMARY KEY REFERENCES cell,
  collector_id INTEGER NOT NULL REFERENCES collector,
  round INTEGER NOT NULL,
  request_id INTEGER NOT NULL REFERENCES blob,
  sent_at INTEGER NOT NULL,
  reserved INTEGER NOT NULL        -- micro-dollars kept for it
) STRICT;
CREATE TABLE total (               -- sums over readings, kept for limits
  id INTEGER PRIMARY KEY CHECK (id = 0),
  requests INTEGER NOT NULL,
  micro_dollars INTEGER NOT NULL
) STRICT;
INSERT INTO total VALUES (0, 0, 0);
CREATE VIEW ending AS              -- the outcome of each ended cell: that of its latest round
SELECT r.* FROM reading r WHERE r.outcome IS NOT NULL AND NOT EXISTS
  (SELECT 1 FROM reading later WHERE later.cell_id = r.cell_id AND later.outcome IS NOT NULL
   AND later.round > r.round);
"""


def schema() -> str:
    """The statements that make an empty journal."""
    guards = "".join(
        f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} BEGIN"
        f" SELECT RAISE(ABORT, 'a journal is only added to'); END;\n"
        for table in _HISTORY
        for verb in ("UPDATE", "DELETE")
    )
    marks = f"PRAGMA application_id = {APPLICATION};\nPRAGMA user_version = {FORMAT};\n"
    return f"BEGIN IMMEDIATE;\n{_TABLES}{guards}{marks}COMMIT;\n"
