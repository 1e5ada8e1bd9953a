// A list around encoded items. All lists of the API have the same form: ListMeta as field 1, the
// items as field 2.

import { metaSchemas } from '../../schema/meta-schemas.ts';
import { encodeMessage } from './encode.ts';
import { ENVELOPE_TAIL, envelopeHead } from './envelope.ts';
import { BYTES, varintLength, writeVarint } from './wire.ts';

export interface ListFrame {
  /** The bytes before the items. */
  readonly head: Uint8Array;
  /** The bytes after the items. */
  readonly tail: Uint8Array;
  /** Returns the number of bytes that an item of this length takes in the list. */
  itemLength(messageLength: number): number;
  /**
   * Writes the bytes before an item of this length, and returns the offset after them. There must
   * be room.
   */
  writeItemHead(target: Buffer, offset: number, messageLength: number): number;
}

export interface ListFrameConfig {
  /** The metadata of the list, not of its items. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The lengths of the items' messages. */
  readonly messageLengths: readonly number[];
}

const METADATA_TAG = 1 * 8 + BYTES;
const ITEM_TAG = 2 * 8 + BYTES;

export function listFrame({
  apiVersion,
  kind,
  metadata,
  messageLengths,
}: ListFrameConfig): ListFrame {
  const itemLength = (length: number): number => 1 + varintLength(length) + length;
  const start = metadataField(metadata);
  let total = start.length;
  for (const length of messageLengths) total += itemLength(length);
  return {
    head: Buffer.concat([envelopeHead(apiVersion, kind, total), start]),
    tail: ENVELOPE_TAIL,
    itemLength,
    writeItemHead(target, offset, length) {
      target[offset] = ITEM_TAG;
      return writeVarint(target, offset + 1, length);
    },
  };
}

function metadataField(metadata: Readonly<Record<string, unknown>>): Buffer {
  const message = encodeMessage(metaSchemas.message('meta/v1.ListMeta'), metadata);
  const field = Buffer.allocUnsafe(1 + varintLength(message.length) + message.length);
  field[0] = METADATA_TAG;
  message.copy(field, writeVarint(field, 1, message.length));
  return field;
}
