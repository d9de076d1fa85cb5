"""A server of models that says so many words, each in a chunk of its own: streaming_model.py CHUNKS.

It prints its port, and ends with its input.
"""

from __future__ import annotations

import asyncio
import json
import sys


def _event(choice: dict[str, object]) -> bytes:
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    data = f"data: {json.dumps({**head, 'choices': [choice]})}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


async def main(chunks: int) -> None:
    """Serve until the input ends."""
    word = _event({"index": 0, "delta": {"content": "another word "}, "finish_reason": None})
    last = _event({"index": 0, "delta": {}, "finish_reason": "stop"})

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
        writer.write(b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(chunks // 20):  # as a network has them: some at a time
            writer.write(word * 20)
            await writer.drain()
        writer.write(last + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
