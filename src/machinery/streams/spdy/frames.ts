// The frames of SPDY/3.1 (framing layer of the SPDY protocol, draft 3.1) as bytes and as values.
//
//   control: 1 | version 15 | type 16 | flags 8 | length 24 | payload
//   data:    0 | stream id 31          | flags 8 | length 24 | payload

import {
  HeaderBlockError,
  HeaderCompressor,
  HeaderDecompressor,
  type Headers,
} from './header-compression.ts';

export const rstStatus = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  unsupportedVersion: 4,
  cancel: 5,
  internalError: 6,
  flowControlError: 7,
  streamInUse: 8,
  streamAlreadyClosed: 9,
} as const;

export const goAwayStatus = { ok: 0, protocolError: 1, internalError: 2 } as const;

const types = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;
const VERSION = 3;
const FLAG_FIN = 1;
/** The longest control frame that is read into memory, in bytes. Control frames are small. */
const MAX_CONTROL = 64 * 1024;

export type ControlFrame =
  | {
      readonly type: 'synStream';
      readonly streamId: number;
      readonly headers: Headers;
      readonly fin: boolean;
    }
  | {
      readonly type: 'synReply';
      readonly streamId: number;
      readonly headers: Headers;
      readonly fin: boolean;
    }
  | {
      readonly type: 'headers';
      readonly streamId: number;
      readonly headers: Headers;
      readonly fin: boolean;
    }
  | { readonly type: 'rstStream'; readonly streamId: number; readonly status: number }
  | { readonly type: 'settings'; readonly values: ReadonlyMap<number, number> }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'goAway'; readonly lastGoodStreamId: number; readonly status: number }
  | { readonly type: 'windowUpdate'; readonly streamId: number; readonly delta: number };

/**
 * A piece of data as it came from the socket. `end` marks the frame's last piece, `fin` the end of
 * the stream.
 */
export interface DataPiece {
  readonly type: 'data';
  readonly streamId: number;
  readonly data: Buffer;
  readonly fin: boolean;
}

export type Frame = ControlFrame | DataPiece;

export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError';
}

/** Encodes frames. Frames with headers must be sent in the order in which they were encoded. */
export class FrameEncoder {
  readonly #compressor = new HeaderCompressor();

  encode(frame: ControlFrame): Buffer {
    switch (frame.type) {
      case 'synStream': {
        const fixed = Buffer.alloc(10);
        fixed.writeUInt32BE(frame.streamId, 0);
        return control(types.synStream, frame.fin, fixed, this.#compressor.compress(frame.headers));
      }
      case 'synReply':
      case 'headers':
        return control(
          types[frame.type],
          frame.fin,
          words(frame.streamId),
          this.#compressor.compress(frame.headers),
        );
      case 'rstStream':
        return control(types.rstStream, false, words(frame.streamId, frame.status));
      case 'settings':
        return control(
          types.settings,
          false,
          words(frame.values.size, ...[...frame.values].flat()),
        );
      case 'ping':
        return control(types.ping, false, words(frame.id));
      case 'goAway':
        return control(types.goAway, false, words(frame.lastGoodStreamId, frame.status));
      case 'windowUpdate':
        return control(types.windowUpdate, false, words(frame.streamId, frame.delta));
    }
  }

  /** Returns the eight bytes before `length` bytes of data. */
  dataHeader(streamId: number, length: number, fin: boolean): Buffer {
    const header = words(streamId, length);
    header[4] = fin ? FLAG_FIN : 0;
    return header;
  }
}

function words(...values: number[]): Buffer {
  const out = Buffer.allocUnsafe(4 * values.length);
  values.forEach((value, i) => out.writeUInt32BE(value, 4 * i));
  return out;
}

function control(type: number, fin: boolean, ...payload: Buffer[]): Buffer {
  const length = payload.reduce((sum, part) => sum + part.length, 0);
  const header = words((0x8000 | VERSION) * 0x10000 + type, length);
  header[4] = fin ? FLAG_FIN : 0;
  return Buffer.concat([header, ...payload]);
}

/** Decodes frames from bytes in pieces of any size. Any error is final for the connection. */
export class FrameDecoder {
  readonly #decompressor = new HeaderDecompressor();
  /** Bytes of an incomplete header or control frame. */
  #pending: Buffer = Buffer.alloc(0);
  /** The data frame that is being passed through. */
  #data: { streamId: number; remaining: number; fin: boolean } | undefined;

  /** Yields the frames that `chunk` completes, in order. Throws SpdyProtocolError. */
  *decode(chunk: Buffer): Generator<Frame, void> {
    let rest = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    this.#pending = Buffer.alloc(0);
    while (rest.length > 0) {
      if (this.#data) {
        const data = rest.subarray(0, this.#data.remaining);
        rest = rest.subarray(data.length);
        yield this.#pass(this.#data, data);
        continue;
      }
      if (rest.length < 8) break;
      const first = rest.readUInt32BE(0);
      const flags = rest[4]!;
      const length = rest.readUIntBE(5, 3);
      if (first < 0x80000000) {
        if (first === 0) throw new SpdyProtocolError('data for stream 0');
        rest = rest.subarray(8);
        const frame = { streamId: first, remaining: length, fin: (flags & FLAG_FIN) !== 0 };
        if (length === 0) yield this.#pass(frame, rest.subarray(0, 0));
        else this.#data = frame;
        continue;
      }
      if (length > MAX_CONTROL)
        throw new SpdyProtocolError(`a control frame with ${length} bytes is too large`);
      if (rest.length < 8 + length) break;
      const payload = rest.subarray(8, 8 + length);
      rest = rest.subarray(8 + length);
      const version = (first >>> 16) & 0x7fff;
      if (version !== VERSION) throw new SpdyProtocolError(`unsupported SPDY version ${version}`);
      const frame = this.#control(first & 0xffff, (flags & FLAG_FIN) !== 0, payload);
      if (frame) yield frame;
    }
    // A copy: the chunk belongs to the socket's pool, and the rest may be kept for long.
    if (rest.length > 0) this.#pending = Buffer.from(rest);
  }

  #pass(frame: { streamId: number; remaining: number; fin: boolean }, data: Buffer): DataPiece {
    frame.remaining -= data.length;
    const last = frame.remaining === 0;
    if (last) this.#data = undefined;
    return { type: 'data', streamId: frame.streamId, data, fin: last && frame.fin };
  }

  /**
   * Returns a control frame; undefined for an unknown type, which the protocol requires to skip.
   */
  #control(type: number, fin: boolean, payload: Buffer): ControlFrame | undefined {
    const word = (index: number): number => {
      if (payload.length < 4 * index + 4)
        throw new SpdyProtocolError(`a control frame of type ${type} is truncated`);
      return payload.readUInt32BE(4 * index);
    };
    const id = (index: number): number => word(index) & 0x7fffffff;
    switch (type) {
      case types.synStream:
        return {
          type: 'synStream',
          streamId: id(0),
          headers: this.#headers(payload.subarray(10)),
          fin,
        };
      case types.synReply:
        return {
          type: 'synReply',
          streamId: id(0),
          headers: this.#headers(payload.subarray(4)),
          fin,
        };
      case types.headers:
        return {
          type: 'headers',
          streamId: id(0),
          headers: this.#headers(payload.subarray(4)),
          fin,
        };
      case types.rstStream:
        return { type: 'rstStream', streamId: id(0), status: word(1) };
      case types.settings: {
        const values = new Map<number, number>();
        for (let i = 0; i < word(0); i++) values.set(word(1 + 2 * i) & 0xffffff, word(2 + 2 * i));
        return { type: 'settings', values };
      }
      case types.ping:
        return { type: 'ping', id: word(0) };
      case types.goAway:
        return { type: 'goAway', lastGoodStreamId: id(0), status: word(1) };
      case types.windowUpdate:
        return { type: 'windowUpdate', streamId: id(0), delta: id(1) };
      default:
        return undefined;
    }
  }

  #headers(block: Buffer): Headers {
    try {
      return this.#decompressor.decompress(block);
    } catch (error) {
      if (error instanceof HeaderBlockError)
        throw new SpdyProtocolError(error.message, { cause: error });
      throw error;
    }
  }
}
