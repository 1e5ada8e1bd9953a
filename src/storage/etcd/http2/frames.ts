// The frames of HTTP/2 (RFC 9113) that a client of unary calls sends and reads.

export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 };

/** Error codes of streams and connections. */
export const CANCEL = 8;
export const PROTOCOL_ERROR = 1;

export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
} as const;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
export const HEADER_BYTES = 9;
/** The maximum payload of a frame, unless both sides agree on more. */
export const MAX_PAYLOAD = 16_384;
/** The window of a stream or connection before any setting. */
export const INITIAL_WINDOW = 65_535;
export const MAX_WINDOW = 2 ** 31 - 1;
const STREAM_MASK = 0x7fffffff;

/** Writes the header of a frame into `target`. Returns the offset after it. */
export function writeFrameHeader(
  target: Buffer,
  at: number,
  frame: {
    readonly length: number;
    readonly type: number;
    readonly flags: number;
    readonly stream: number;
  },
): number {
  const { length, type, flags, stream } = frame;
  target[at] = length >> 16;
  target[at + 1] = length >> 8;
  target[at + 2] = length;
  target[at + 3] = type;
  target[at + 4] = flags;
  target.writeUInt32BE(stream, at + 5);
  return at + HEADER_BYTES;
}

/** Returns a frame. Its payload has at most MAX_PAYLOAD bytes. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  const at = writeFrameHeader(bytes, 0, { length: payload.length, type, flags, stream });
  bytes.set(payload, at);
  return bytes;
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * settings.length);
  for (const [index, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  }
  return frame(FRAME.settings, 0, 0, payload);
}

/** Returns a frame whose payload is one number of 32 bits: WINDOW_UPDATE or RST_STREAM. */
export function numberFrame(type: number, stream: number, value: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(value, 0);
  return frame(type, 0, stream, payload);
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  /** Valid during the call: a view of what was received. */
  readonly payload: Buffer;
}

/** Cuts the bytes of a connection into frames. */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  /** The beginning of a frame that is not complete; less than MAX_PAYLOAD and a header. */
  #rest: Buffer | undefined;

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
  }

  /** Reads the next bytes. Throws Error for a frame that is too long, and what `onFrame` throws. */
  push(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = undefined;
    let at = 0;
    while (bytes.length - at >= HEADER_BYTES) {
      const length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
      if (length > MAX_PAYLOAD) throw new Error(`a frame of ${length} bytes is too long`);
      const begin = at + HEADER_BYTES;
      if (bytes.length - begin < length) break;
      this.#onFrame({
        type: bytes[at + 3]!,
        flags: bytes[at + 4]!,
        stream: bytes.readUInt32BE(at + 5) & STREAM_MASK,
        payload: bytes.subarray(begin, begin + length),
      });
      at = begin + length;
    }
    if (at < bytes.length) this.#rest = bytes.subarray(at);
  }
}
