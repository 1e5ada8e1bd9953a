// The frames of HTTP/2 (RFC 9113) that a client of watches sends.

import { encodeFields } from '#storage/etcd/http2/hpack.ts';

const TYPE = { headers: 1, settings: 4, windowUpdate: 8 } as const;
const END_STREAM_AND_HEADERS = 0x5;
const ACK = 0x1;
const SETTINGS_HEADER_TABLE_SIZE = 1;
const SETTINGS_ENABLE_PUSH = 2;
const SETTINGS_INITIAL_WINDOW_SIZE = 4;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

export function settingsFrame(settings: { readonly initialWindow: number } | 'ack'): Buffer {
  if (settings === 'ack') return frame(TYPE.settings, ACK, 0, Buffer.alloc(0));
  const payload = Buffer.alloc(18);
  const set = (at: number, id: number, value: number): void => {
    payload.writeUInt16BE(id, at);
    payload.writeUInt32BE(value, at + 2);
  };
  // Without a table each block of headers can be read on its own.
  set(0, SETTINGS_HEADER_TABLE_SIZE, 0);
  set(6, SETTINGS_ENABLE_PUSH, 0);
  set(12, SETTINGS_INITIAL_WINDOW_SIZE, settings.initialWindow);
  return frame(TYPE.settings, 0, 0, payload);
}

export function windowUpdate(stream: number, increment: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(increment, 0);
  return frame(TYPE.windowUpdate, 0, stream, payload);
}

/** Returns a request without a body. The header fields are literals, as HPACK calls them. */
export function headersFrame(
  stream: number,
  fields: readonly (readonly [name: string, value: string])[],
): Buffer {
  return frame(TYPE.headers, END_STREAM_AND_HEADERS, stream, encodeFields(fields));
}
