"""An editor as far as a language server sees one: requests and notifications of JSON-RPC over pipes."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from typing import Any

TIMEOUT = 60.0


class Refused(Exception):
    """The server answered with an error."""


class Editor:
    """A server process, and what it has said so far."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "mind_tools.mind_lsp", "--stdio"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self._count = 0
        self.published: list[dict[str, Any]] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.capabilities = self.ask("initialize", processId=None, rootUri=None, capabilities={})["capabilities"]
        self.tell("initialized")

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            size = 0
            while header.strip():
                if header.lower().startswith(b"content-length:"):
                    size = int(header.split(b":")[1])
                header = stream.readline()
            self._messages.put(json.loads(stream.read(size)))

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _next(self) -> dict[str, Any]:
        message = self._messages.get(timeout=TIMEOUT)
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published.append(message["params"])
        return message

    def ask(self, method: str, **params: Any) -> Any:
        """The answer to a request; `Refused` for an error."""
        self._count += 1
        number = self._count
        self._send({"id": number, "method": method, "params": params})
        while (message := self._next()).get("id") != number or "method" in message:
            pass
        if "error" in message:
            raise Refused(message["error"]["message"])
        return message["result"]

    def tell(self, method: str, **params: Any) -> None:
        """A notification."""
        self._send({"method": method, "params": params})

    def open(self, uri: str, text: str) -> list[dict[str, Any]]:
        """Open a text; its diagnostics."""
        self.tell("textDocument/didOpen", textDocument={"uri": uri, "languageId": "mlir", "version": 1, "text": text})
        return self.diagnostics(uri, 1)

    def diagnostics(self, uri: str, version: int) -> list[dict[str, Any]]:
        """The diagnostics of a version of a text, once they are there."""
        while True:
            for found in self.published:
                if found["uri"] == uri and found.get("version") == version:
                    return found["diagnostics"]
            self._next()

    def at(self, method: str, uri: str, line: int, character: int, **more: Any) -> Any:
        """The answer to a question on a place."""
        where = {"line": line, "character": character}
        return self.ask(f"textDocument/{method}", textDocument={"uri": uri}, position=where, **more)

    def close(self) -> int:
        """End the server; its exit status."""
        self.ask("shutdown")
        self.tell("exit")
        status = self.process.wait(timeout=TIMEOUT)
        self._listener.join(timeout=TIMEOUT)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        return status
