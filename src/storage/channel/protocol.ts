// The frames of a storage channel. Both ends are of one version of the program: `VERSION` tells
// two versions apart, nothing translates between them.

import { type KeyValue, StorageError, type StorageErrorReason } from '../interface.ts';
import { type FrameBody, FrameError, type FrameWriter } from './frames.ts';

/** Changes with every change of the frames. */
export const VERSION = 1;

/** Frames of the client. A call is answered by RESULT, ERROR or FAULT, unless it says otherwise. */
export const HELLO = 1;
export const GET = 2;
/** Answered by any number of PART before RESULT. */
export const LIST = 3;
export const COUNT = 4;
export const CREATE = 5;
/** Writes a decision, if the key has the expected revision. */
export const SWAP = 6;
export const DELETE = 7;
export const COMPACT = 8;
export const REVISION = 9;
export const SIZE = 10;
export const HEALTH = 11;
/** Answered by any number of EVENT, then END, ERROR or FAULT. */
export const WATCH = 12;
/** Not answered: ends the watch that this call began. */
export const STOP_WATCH = 13;
/** Not answered: the consumer has taken so many events and bytes of the watch. */
export const CREDIT = 14;
/** Not answered: watches with progress need an event soon. */
export const PROGRESS = 15;

/** Frames of the server. */
export const RESULT = 64;
export const PART = 65;
/** A StorageError. */
export const ERROR = 66;
/** Another error, which is a bug of the caller or of the engine. */
export const FAULT = 67;
export const EVENT = 68;
export const END = 69;

/** The decisions of SWAP. */
export const KEEP = 0;
export const PUT = 1;
export const REMOVE = 2;

/** The outcomes of SWAP. */
export const CHANGED = 0;
export const DONE = 1;

const REASONS: readonly StorageErrorReason[] = [
  'KeyExists',
  'KeyNotFound',
  'Conflict',
  'Expired',
  'FutureRevision',
  'Closed',
  'SlowWatcher',
  'NoSpace',
  'TooLarge',
  'Corrupt',
  'Unavailable',
];

/** How many events, and how many bytes of them, may wait for the consumer at the client. */
export interface Window {
  readonly events: number;
  readonly bytes: number;
}

/** Returns the bytes that an event counts for in a window. */
export function weightOf(value: Uint8Array | undefined, previous: Uint8Array | undefined): number {
  return 64 + (value?.length ?? 0) + (previous?.length ?? 0);
}

export function writeKeyValue(frame: FrameWriter, kv: KeyValue): void {
  frame.text(kv.key).number(kv.createRevision).number(kv.modRevision).bytes(kv.value);
}

export function readKeyValue(body: FrameBody): KeyValue {
  const key = body.text();
  const createRevision = body.number();
  const modRevision = body.number();
  return { key, value: body.bytes(), createRevision, modRevision };
}

export function writeOptional<T>(
  frame: FrameWriter,
  value: T | undefined,
  write: (value: T) => void,
): void {
  frame.u8(value === undefined ? 0 : 1);
  if (value !== undefined) write(value);
}

export function readOptional<T>(body: FrameBody, read: () => T): T | undefined {
  return body.u8() === 0 ? undefined : read();
}

/** Writes an error as a whole frame. */
export function writeError(frame: FrameWriter, call: number, error: unknown): void {
  if (!(error instanceof StorageError)) {
    frame.begin(FAULT, call).text(error instanceof Error ? error.message : String(error));
    frame.end();
    return;
  }
  const { reason, message, key, current, revision } = error;
  frame.begin(ERROR, call).u8(REASONS.indexOf(reason)).text(message);
  writeOptional(frame, key, (value) => frame.text(value));
  writeOptional(frame, current, (value) => writeKeyValue(frame, value));
  writeOptional(frame, revision, (value) => frame.number(value));
  frame.end();
}

/** Reads the error of a frame ERROR or FAULT. */
export function readError(body: FrameBody): Error {
  if (body.type === FAULT) return new Error(body.text());
  const reason = REASONS[body.u8()];
  if (reason === undefined) throw new FrameError('an unknown reason of an error');
  const message = body.text();
  const key = readOptional(body, () => body.text());
  const current = readOptional(body, () => readKeyValue(body));
  const revision = readOptional(body, () => body.number());
  return new StorageError(reason, message, {
    ...(key !== undefined && { key }),
    ...(current !== undefined && { current }),
    ...(revision !== undefined && { revision }),
  });
}
