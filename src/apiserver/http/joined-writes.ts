// What is written to a connection together goes to TLS in one piece. Node writes the head of an answer, its body and its end as three
// chunks, looks each of them up in an array, and copies them together in memory that it allocates for that.

import type { TLSSocket } from 'node:tls';

/** Larger writes are not copied: TLS cuts them in records of this size anyway. */
const MAX_JOINED_BYTES = 16 * 1024;

interface Chunk {
  readonly chunk: string | Uint8Array;
  readonly encoding: BufferEncoding;
}

/** To be called once for a connection. */
export function joinWrites(socket: TLSSocket): void {
  const writev = socket._writev?.bind(socket);
  // A socket that writes chunks one by one never has several.
  if (writev === undefined) return;
  socket._writev = (chunks: readonly Chunk[], callback) => {
    let length = 0;
    for (const { chunk, encoding } of chunks) length += typeof chunk === 'string' ? sizeOf(chunk, encoding) : chunk.length;
    if (length > MAX_JOINED_BYTES) {
      writev(chunks as { chunk: unknown; encoding: BufferEncoding }[], callback);
      return;
    }
    const joined = Buffer.allocUnsafe(length);
    let at = 0;
    for (const { chunk, encoding } of chunks) {
      if (typeof chunk !== 'string') {
        joined.set(chunk, at);
        at += chunk.length;
      } else if (chunk !== '') at += joined.write(chunk, at, encoding);
    }
    socket._write(joined, 'buffer' as BufferEncoding, callback);
  };
}

function sizeOf(text: string, encoding: BufferEncoding): number {
  return encoding === 'latin1' ? text.length : Buffer.byteLength(text, encoding);
}
