// The bytes of watch events. A batch of events for one watcher is mostly a batch for the next
// watcher as well, so the joined bytes of the last batches are kept and shared.

import { PROTOBUF_CONTENT_TYPE } from '#api/machinery/codec/protobuf/index.ts';
import type { EncodedWatchEvent, ResponseFormat } from '../request.ts';

/** Returns the event's bytes in a format. All watchers share them. */
export function frameOf(event: EncodedWatchEvent, format: ResponseFormat): Uint8Array {
  return format.mediaType === PROTOBUF_CONTENT_TYPE
    ? event.protobufFrame(format.protobuf)
    : event.frame();
}

/** A joined batch is at most this long, unless its first frame is longer. */
export const MAX_BATCH_BYTES = 64 * 1024;
/** Watchers of a few places, formats or positions take turns. */
const KEPT_BATCHES = 4;

export interface Batch {
  readonly bytes: Uint8Array;
  /** The number of frames in it: at least one. */
  readonly count: number;
}

/** Joins frames, so that a batch costs each of its watchers one write. */
export class FrameJoiner {
  readonly #kept: { readonly frames: readonly Uint8Array[]; readonly bytes: Uint8Array }[] = [];
  #oldest = 0;

  /** Joins the frames from `first` on that make a batch. There is at least one. */
  join(frames: readonly Uint8Array[], first: number): Batch {
    const frame = frames[first]!;
    let length = frame.length;
    let end = first + 1;
    for (; end < frames.length; end++) {
      const next = length + frames[end]!.length;
      if (next > MAX_BATCH_BYTES) break;
      length = next;
    }
    if (end === first + 1) return { bytes: frame, count: 1 };
    return { bytes: this.#joined(frames, first, end, length), count: end - first };
  }

  #joined(frames: readonly Uint8Array[], first: number, end: number, length: number): Uint8Array {
    for (const batch of this.#kept)
      if (batch.bytes.length === length && isPart(batch.frames, frames, first, end))
        return batch.bytes;
    const part = frames.slice(first, end);
    const bytes = Buffer.concat(part, length);
    this.#kept[this.#oldest] = { frames: part, bytes };
    this.#oldest = (this.#oldest + 1) % KEPT_BATCHES;
    return bytes;
  }
}

/** Reports whether `part` is the frames from `first` to `end`. */
function isPart(
  part: readonly Uint8Array[],
  frames: readonly Uint8Array[],
  first: number,
  end: number,
): boolean {
  if (part.length !== end - first) return false;
  for (let at = 0; at < part.length; at++) if (part[at] !== frames[first + at]) return false;
  return true;
}
