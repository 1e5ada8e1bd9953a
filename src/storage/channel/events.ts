// Watch events as frames.

import type { StorageEvent } from '../interface.ts';
import { type FrameBody, FrameError, type FrameWriter } from './frames.ts';
import {
  EVENT,
  readKeyValue,
  readOptional,
  weightOf,
  writeKeyValue,
  writeOptional,
} from './protocol.ts';

const TYPE_PUT = 1;
const TYPE_DELETE = 2;
const TYPE_PROGRESS = 3;
/** Flags beside the type. */
const MORE = 1;
const COALESCED = 2;

/** Writes the event as a whole frame. */
export function writeEvent(frame: FrameWriter, call: number, event: StorageEvent): void {
  frame.begin(EVENT, call);
  switch (event.type) {
    case 'put':
      frame
        .u8(TYPE_PUT)
        .u8((event.more === true ? MORE : 0) | (event.coalesced === true ? COALESCED : 0));
      frame.number(event.revision);
      writeKeyValue(frame, event.kv);
      writeOptional(frame, event.previous, (previous) => writeKeyValue(frame, previous));
      break;
    case 'delete':
      frame
        .u8(TYPE_DELETE)
        .u8(event.more === true ? MORE : 0)
        .number(event.revision);
      writeKeyValue(frame, event.previous);
      break;
    case 'progress':
      frame.u8(TYPE_PROGRESS).number(event.revision);
  }
  frame.end();
}

export function readEvent(body: FrameBody): StorageEvent {
  const type = body.u8();
  if (type === TYPE_PROGRESS) return { type: 'progress', revision: body.number() };
  const flags = body.u8();
  const revision = body.number();
  const more = (flags & MORE) !== 0 && { more: true };
  const kv = readKeyValue(body);
  if (type === TYPE_DELETE) return { type: 'delete', revision, key: kv.key, previous: kv, ...more };
  if (type !== TYPE_PUT) throw new FrameError('an unknown type of an event');
  const previous = readOptional(body, () => readKeyValue(body));
  return {
    type: 'put',
    revision,
    kv,
    ...(previous !== undefined && { previous }),
    ...more,
    ...((flags & COALESCED) !== 0 && { coalesced: true }),
  };
}

/** Returns what the event counts for in a window, in bytes. Both ends compute it. */
export function weightOfEvent(event: StorageEvent): number {
  switch (event.type) {
    case 'put':
      return weightOf(event.kv.value, event.previous?.value);
    case 'delete':
      return weightOf(undefined, event.previous.value);
    case 'progress':
      return weightOf(undefined, undefined);
  }
}
