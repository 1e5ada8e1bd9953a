// A list around items that are encoded already.

import type { MessageDescriptor } from '#api/machinery/descriptor.ts';
import { encodeMessage } from './encode.ts';
import { ENVELOPE_TAIL, envelopeHead } from './envelope.ts';
import { BYTES, varintLength, writeVarint } from './wire.ts';

export interface ListFrame {
  /** What comes before the items. */
  readonly head: Uint8Array;
  /** What comes behind them. */
  readonly tail: Uint8Array;
  /** How many bytes an item of this length takes in the list. */
  itemLength(messageLength: number): number;
  /** Writes what comes before an item of this length, and answers the offset behind it. There must be room. */
  writeItemHead(target: Buffer, offset: number, messageLength: number): number;
}

export interface ListFrameConfig {
  /** Of the list's kind: it has `metadata`, and `items` behind it. */
  readonly message: MessageDescriptor;
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** How long the items' own messages are. */
  readonly messageLengths: readonly number[];
}

export function listFrame(config: ListFrameConfig): ListFrame {
  const { message, apiVersion, kind, metadata, messageLengths } = config;
  const number = message.byName.get('items')?.number ?? 0;
  if (number === 0) throw new Error(`${message.key} is no list that protobuf has`);
  const tag = number * 8 + BYTES;
  const itemLength = (length: number): number => varintLength(tag) + varintLength(length) + length;
  const start = encodeMessage(message, { metadata });
  let total = start.length;
  for (const length of messageLengths) total += itemLength(length);
  return {
    head: Buffer.concat([envelopeHead(apiVersion, kind, total), start]),
    tail: ENVELOPE_TAIL,
    itemLength,
    writeItemHead: (target, offset, length) => writeVarint(target, writeVarint(target, offset, tag), length),
  };
}
