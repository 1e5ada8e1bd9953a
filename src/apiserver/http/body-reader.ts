// Bodies of requests, read when they are asked for and only so far.

import type { Readable } from 'node:stream';

import * as apierrors from '../../machinery/apierrors.ts';
import type { RequestBody } from '../request.ts';

/** As large as a body may be: 3 MiB. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;

const EMPTY = new Uint8Array();

export const noBody: RequestBody = { kind: 'bytes', read: () => Promise.resolve(EMPTY) };

/** `announced`: what the client says the length is, if it does. */
export function bodyOf(stream: Readable, announced: string | undefined): RequestBody {
  let reading: Promise<Uint8Array> | undefined;
  return { kind: 'bytes', read: () => (reading ??= read(stream, announced)) };
}

function read(stream: Readable, announced: string | undefined): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (announced !== undefined && Number(announced) > MAX_BODY_BYTES) {
      reject(tooLarge());
      return;
    }
    const chunks: Buffer[] = [];
    let length = 0;
    let ended = false;
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_BODY_BYTES) {
        stream.removeAllListeners('data');
        // What still comes is not kept; the answer ends the request.
        stream.resume();
        reject(tooLarge());
        return;
      }
      chunks.push(chunk);
    });
    // Each says so once; to be asked for once costs more.
    stream.on('end', () => {
      ended = true;
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
    });
    const broken = (): void => {
      if (!ended) reject(apierrors.badRequest('the body of the request ended early'));
    };
    stream.on('error', broken);
    stream.on('close', broken);
    // It may have broken before anybody asked, and says so only once.
    if (stream.destroyed) broken();
  });
}

function tooLarge(): apierrors.StatusError {
  return apierrors.requestEntityTooLarge(`limit is ${MAX_BODY_BYTES}`);
}
