// Batches of frames, to be sent and as they were received.

import type { Batch } from './messages.ts';

/** Collects what is to be sent until somebody flushes it. */
export class BatchWriter<Frame> {
  readonly #send: (batch: Batch, transfer: readonly ArrayBuffer[]) => void;
  readonly #schedule: (flush: () => void) => void;
  #frames: Frame[] = [];
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #scheduled = false;

  /** `schedule`: when what was added is sent, if nobody flushes it before. */
  constructor(send: (batch: Batch, transfer: readonly ArrayBuffer[]) => void, schedule: (flush: () => void) => void) {
    this.#send = send;
    this.#schedule = schedule;
  }

  /** `parts`: the frame's bytes; nobody changes them before they are sent. */
  add(frame: Frame, ...parts: readonly Uint8Array[]): void {
    this.#frames.push(frame);
    for (const part of parts) {
      this.#parts.push(part);
      this.#bytes += part.length;
    }
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#schedule(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  flush(): void {
    if (this.#frames.length === 0) return;
    const bytes = new Uint8Array(this.#bytes);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    const frames = JSON.stringify(this.#frames);
    this.#frames = [];
    this.#parts = [];
    this.#bytes = 0;
    this.#send({ frames, bytes }, [bytes.buffer]);
  }
}

/** Calls `receive` for each frame, with a function that takes the next so many bytes of the batch. */
export function readBatch<Frame>(
  { frames, bytes }: Batch,
  receive: (frame: Frame, take: (length: number) => Buffer) => void,
): void {
  let at = bytes.byteOffset;
  const take = (length: number): Buffer => {
    const part = Buffer.from(bytes.buffer, at, length);
    at += length;
    return part;
  };
  for (const frame of JSON.parse(frames) as Frame[]) receive(frame, take);
}
