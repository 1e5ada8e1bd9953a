// Request bodies, which are read on demand and up to a limit.

import { Readable } from 'node:stream';

import * as apierrors from '#machinery/apierrors.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { RequestBody } from '../request.ts';

/** The maximum size of a body: 3 MiB. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;

const EMPTY = new Uint8Array();

export const noBody: RequestBody = { kind: 'bytes', read: () => EMPTY };

/** Returns the body of a request. `announced`: the Content-Length, if there is one. */
export function bodyOf(stream: Readable, announced: string | undefined): RequestBody {
  // The stream is also the response's, so reading the body must not destroy it.
  const chunks = (): Readable =>
    Readable.from(stream.iterator({ destroyOnReturn: false }), { objectMode: false });
  return { ...readOnce(announced, () => read(stream)), stream: chunks };
}

function readOnce(
  announced: string | undefined,
  read: () => Awaitable<Uint8Array>,
): Extract<RequestBody, { kind: 'bytes' }> {
  let body: Awaitable<Uint8Array> | undefined;
  return {
    kind: 'bytes',
    read() {
      if (announced !== undefined && Number(announced) > MAX_BODY_BYTES) throw tooLarge();
      return (body ??= read());
    },
  };
}

function read(stream: Readable): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let ended = false;
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_BODY_BYTES) {
        // The rest is read and dropped until the response ends the request.
        chunks.length = 0;
        reject(tooLarge());
        return;
      }
      chunks.push(chunk);
    });
    // Each event occurs once, and `on` is cheaper than `once`.
    stream.on('end', () => {
      ended = true;
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length));
    });
    const broken = (): void => {
      if (!ended) reject(endedEarly());
    };
    stream.on('error', broken);
    stream.on('close', broken);
    // The stream may already be closed, and emits that event only once.
    if (stream.destroyed) broken();
  });
}

function tooLarge(): apierrors.StatusError {
  return apierrors.requestEntityTooLarge(`limit is ${MAX_BODY_BYTES}`);
}

function endedEarly(): apierrors.StatusError {
  return apierrors.badRequest('the body of the request ended early');
}
