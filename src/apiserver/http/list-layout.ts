// The layout of a list that is spliced from its items' bytes, in JSON and in protobuf: a prefix,
// the items, a suffix.

import type { ProtobufCodec } from '#api/machinery/codec/object-codec.ts';
import { listFrame, messageInEnvelope } from '#api/machinery/codec/protobuf/index.ts';
import type { ApiResponse } from '../request.ts';

export type ListBody = Extract<ApiResponse['body'], { kind: 'list' }>;

export interface ListLayout {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  /** The number of items. Each item includes the separator before it. */
  readonly count: number;
  /** Returns the length of an item, in bytes. */
  itemLength(index: number): number;
  /**
   * Writes the item into `target` at `offset`, and returns the offset after it. `target` must have
   * room.
   */
  copyItem(index: number, target: Buffer, offset: number): number;
}

const COMMA = 0x2c;
const JSON_TAIL = Buffer.from(']}\n', 'latin1');

export function jsonLayout({
  listKind,
  apiVersion,
  metadata,
  items,
  identifiedItems = false,
}: ListBody): ListLayout {
  return {
    head: Buffer.from(
      `{"kind":${JSON.stringify(listKind)},"apiVersion":${JSON.stringify(apiVersion)},` +
        `"metadata":${JSON.stringify(metadata)},"items":[`,
      'utf8',
    ),
    tail: JSON_TAIL,
    count: items.length,
    itemLength: (index) => items[index]!.itemLength(identifiedItems) + (index > 0 ? 1 : 0),
    copyItem(index, target, offset) {
      let at = offset;
      if (index > 0) target[at++] = COMMA;
      return items[index]!.copyItem(target, at, identifiedItems);
    },
  };
}

/**
 * Returns the layout in protobuf. `codec`: the items' codec (see EncodedObject.protobuf, which
 * throws without it).
 */
export function protobufLayout(list: ListBody, codec: ProtobufCodec | undefined): ListLayout {
  const { listKind, apiVersion, metadata, items } = list;
  const messages = items.map((item) => messageInEnvelope(item.protobuf(codec)));
  const messageLengths = messages.map(({ length }) => length);
  const frame = listFrame({ apiVersion, kind: listKind, metadata, messageLengths });
  return {
    head: frame.head,
    tail: frame.tail,
    count: items.length,
    itemLength: (index) => frame.itemLength(messageLengths[index]!),
    copyItem(index, target, offset) {
      const bytes = messages[index]!;
      const at = frame.writeItemHead(target, offset, bytes.length);
      target.set(bytes, at);
      return at + bytes.length;
    },
  };
}
