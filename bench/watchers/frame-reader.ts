// Reads the frames of HTTP/2 from the pieces in which a connection delivers them. The payload of
// DATA frames is handed on piece by piece and never copied.

export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, goAway: 7, ack: 0x1 } as const;

const HEADER_BYTES = 9;

export interface FrameHandler {
  /** Called for each complete frame that is not DATA. */
  readonly onFrame: (type: number, flags: number, stream: number, payload: Buffer) => void;
  /** Called for each piece of the payload of a DATA frame. The buffer is valid during the call. */
  readonly onData: (stream: number, buffer: Buffer, start: number, end: number) => void;
}

export class FrameReader {
  readonly #handler: FrameHandler;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  /** The number of bytes of the header that were received. */
  #headerLength = 0;
  /** The missing bytes of the payload. */
  #left = 0;
  #type = 0;
  #stream = 0;
  /** The received part of a payload that is not DATA. */
  #payload: Buffer[] = [];

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** Reads the first `length` bytes of the buffer. */
  push(buffer: Buffer, length: number): void {
    let at = 0;
    while (at < length) {
      if (this.#headerLength < HEADER_BYTES) {
        const end = Math.min(length, at + HEADER_BYTES - this.#headerLength);
        buffer.copy(this.#header, this.#headerLength, at, end);
        this.#headerLength += end - at;
        at = end;
        if (this.#headerLength < HEADER_BYTES) return;
        this.#left = this.#header.readUIntBE(0, 3);
        this.#type = this.#header[3]!;
        this.#stream = this.#header.readUInt32BE(5) & 0x7fffffff;
      }
      const end = Math.min(length, at + this.#left);
      if (this.#type === FRAME.data) {
        if (end > at) this.#handler.onData(this.#stream, buffer, at, end);
      } else if (end > at) this.#payload.push(Buffer.from(buffer.subarray(at, end)));
      this.#left -= end - at;
      at = end;
      if (this.#left === 0) this.#complete();
    }
  }

  #complete(): void {
    this.#headerLength = 0;
    if (this.#type === FRAME.data) return;
    const payload = Buffer.concat(this.#payload);
    this.#payload = [];
    this.#handler.onFrame(this.#type, this.#header[4]!, this.#stream, payload);
  }
}
