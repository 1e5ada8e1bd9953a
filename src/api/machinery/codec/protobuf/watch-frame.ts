// Watch events in protobuf: they have no envelope, but a length prefix of four bytes. The object
// inside has its envelope.

import { BYTES, varintLength, writeVarint } from './wire.ts';

const LENGTH_BYTES = 4;
const TYPE_TAG = 1 * 8 + BYTES;
const OBJECT_TAG = 2 * 8 + BYTES;
/** The object is in a message of its own, as its only field. */
const RAW_TAG = 1 * 8 + BYTES;

/** Returns the frame of an event. `type` is ASCII. */
export function watchFrame(type: string, enveloped: Uint8Array): Buffer {
  const rawLength = 1 + varintLength(enveloped.length) + enveloped.length;
  const length =
    1 + varintLength(type.length) + type.length + 1 + varintLength(rawLength) + rawLength;
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + length);
  let at = frame.writeUInt32BE(length, 0);
  frame[at++] = TYPE_TAG;
  at = writeVarint(frame, at, type.length);
  at += frame.write(type, at, 'latin1');
  frame[at++] = OBJECT_TAG;
  at = writeVarint(frame, at, rawLength);
  frame[at++] = RAW_TAG;
  at = writeVarint(frame, at, enveloped.length);
  frame.set(enveloped, at);
  return frame;
}
