// The layout of a list that is spliced from its items' bytes, in JSON and in protobuf: a prefix,
// the items, a suffix.

import type { ProtobufCodec } from '#api/machinery/codec/object-codec.ts';
import { listFrame, messageInEnvelope } from '#api/machinery/codec/protobuf/index.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { ApiResponse } from '../request.ts';

export type ListBody = Extract<ApiResponse['body'], { kind: 'list' }>;

export interface ListLayout {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  /** The number of items. Each item includes the separator before it. */
  readonly count: number;
  /** Reports whether the item is encoded already, as what is stored is. */
  isEncoded(index: number): boolean;
  /**
   * Returns the length of an item, in bytes. The first call for an item that is not stored encodes
   * it.
   */
  itemLength(index: number): number;
  /**
   * Writes the item into `target` at `offset`, and returns the offset after it. `target` must have
   * room.
   */
  copyItem(index: number, target: Buffer, offset: number): number;
}

/** The limits of what is encoded in one turn of the event loop, which takes some milliseconds. */
const SLICE_ITEMS = 100;
const SLICE_BYTES = 512 * 1024;

/** Divides the encoding of many objects into turns of the event loop. */
export class EncodingSlices {
  readonly #cost: number;
  #items = 0;
  #bytes = 0;

  /** Creates the slices. `cost`: how many times as long as compact JSON the form takes. Default: 1. */
  constructor(cost = 1) {
    this.#cost = cost;
  }

  get isOver(): boolean {
    return this.#items * this.#cost >= SLICE_ITEMS || this.#bytes * this.#cost >= SLICE_BYTES;
  }

  /** Counts an encoded object. */
  add(bytes: number): void {
    this.#items++;
    this.#bytes += bytes;
  }

  /** Resolves in the next turn. */
  next(): Promise<void> {
    this.#items = 0;
    this.#bytes = 0;
    return nextTurn();
  }
}

const COMMA = 0x2c;
const JSON_TAIL = Buffer.from(']}\n', 'latin1');

/** Returns the fields of the list before its items. */
export const listHead = ({ listKind, apiVersion, metadata, columnDefinitions }: ListBody) => ({
  kind: listKind,
  apiVersion,
  metadata,
  ...(columnDefinitions !== undefined && { columnDefinitions }),
});

export const itemsField = ({ columnDefinitions }: ListBody): 'items' | 'rows' =>
  columnDefinitions === undefined ? 'items' : 'rows';

export function jsonLayout(body: ListBody): ListLayout {
  const { items, identifiedItems = false } = body;
  return {
    head: Buffer.from(
      `${JSON.stringify(listHead(body)).slice(0, -1)},"${itemsField(body)}":[`,
      'utf8',
    ),
    tail: JSON_TAIL,
    count: items.length,
    isEncoded: (index) => items[index]!.state !== undefined,
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
export async function protobufLayout(
  list: ListBody,
  codec: ProtobufCodec | undefined,
): Promise<ListLayout> {
  const { listKind, apiVersion, metadata, items } = list;
  const messages: Buffer[] = [];
  const slices = new EncodingSlices();
  for (const item of items) {
    if (slices.isOver) await slices.next();
    const message = messageInEnvelope(item.protobuf(codec));
    messages.push(message);
    slices.add(message.length);
  }
  const messageLengths = messages.map(({ length }) => length);
  const frame = listFrame({ apiVersion, kind: listKind, metadata, messageLengths });
  return {
    head: frame.head,
    tail: frame.tail,
    count: items.length,
    isEncoded: () => true,
    itemLength: (index) => frame.itemLength(messageLengths[index]!),
    copyItem(index, target, offset) {
      const bytes = messages[index]!;
      const at = frame.writeItemHead(target, offset, bytes.length);
      target.set(bytes, at);
      return at + bytes.length;
    },
  };
}
