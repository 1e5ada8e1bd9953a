// Bodies of requests, read when they are asked for and only so far.

import { Readable } from 'node:stream';

import * as apierrors from '#machinery/apierrors.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { RequestBody } from '../request.ts';
import type { CollectedMessage } from './collected-message.ts';

/** As large as a body may be: 3 MiB. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;

const EMPTY = new Uint8Array();

export const noBody: RequestBody = { kind: 'bytes', read: () => EMPTY };

/** `announced`: what the client says the length is, if it does. */
export function bodyOf(stream: Readable, announced: string | undefined): RequestBody {
  // The stream carries the response, too, and must outlive the reading of the body.
  const chunks = (): Readable => Readable.from(stream.iterator({ destroyOnReturn: false }), { objectMode: false });
  return { ...readOnce(announced, () => read(stream)), stream: chunks };
}

/** The same of a request whose body is collected: it is there at once when it came with the head of the request. */
export function bodyOfMessage(message: CollectedMessage, announced: string | undefined): RequestBody {
  return { ...readOnce(announced, () => (message.ended ? checked(message) : rest(message))), stream: () => message.stream() };
}

function readOnce(announced: string | undefined, read: () => Awaitable<Uint8Array>): Extract<RequestBody, { kind: 'bytes' }> {
  let body: Awaitable<Uint8Array> | undefined;
  return {
    kind: 'bytes',
    read() {
      if (announced !== undefined && Number(announced) > MAX_BODY_BYTES) throw tooLarge();
      return (body ??= read());
    },
  };
}

function checked(message: CollectedMessage): Uint8Array {
  const body = message.body();
  if (body.length > MAX_BODY_BYTES) throw tooLarge();
  return body;
}

function rest(message: CollectedMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const broken = (): void => {
      if (!message.ended) reject(endedEarly());
    };
    message.on('error', broken);
    message.on('close', broken);
    // It may have broken before anybody asked, and says so only once.
    if (message.destroyed) broken();
    message.wait({
      grows(length) {
        if (length <= MAX_BODY_BYTES) return true;
        // What still comes is not kept; the answer ends the request.
        reject(tooLarge());
        return false;
      },
      ended: () => resolve(message.body()),
    });
  });
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
    // Each says so once; to be asked for once costs more.
    stream.on('end', () => {
      ended = true;
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
    });
    const broken = (): void => {
      if (!ended) reject(endedEarly());
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

function endedEarly(): apierrors.StatusError {
  return apierrors.badRequest('the body of the request ended early');
}
