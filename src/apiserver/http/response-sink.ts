// Where a response goes: a connection of HTTP/1.1 or a stream of HTTP/2.

import type { Writable } from 'node:stream';

/** With lower-case names. Only set-cookie has a list: its values cannot be joined. */
export type ResponseHeaders = Record<string, string | readonly string[]>;

/** The part of a response that differs between the versions of HTTP. */
export interface ResponseSink {
  readonly writable: Writable;
  /** False once the client has disconnected, so that nothing need be sent. */
  readonly open: boolean;
  /** True once status line and headers have been sent. Absent if nothing is sent. */
  readonly begun?: boolean;
  /** Sends the status line and headers. `length`: the body's length, if known. */
  begin(code: number, headers: ResponseHeaders, length: number | undefined): void;
  /** Sends a complete response. */
  whole(code: number, headers: ResponseHeaders, body: Uint8Array | undefined): void;
}

/**
 * Writes a chunk, and waits while the client is slow. Resolves at once when it has disconnected.
 */
export function write(
  sink: ResponseSink,
  writable: Writable,
  chunk: Uint8Array,
): Promise<void> | undefined {
  if (!sink.open || writable.destroyed) return undefined;
  if (writable.write(chunk)) return undefined;
  return drained(sink.writable, writable);
}

/** Resolves when the buffer is drained, or the connection is closed. */
function drained(connection: Writable, writable: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      writable.off('drain', done);
      connection.off('close', done);
      resolve();
    };
    writable.on('drain', done);
    connection.on('close', done);
  });
}
