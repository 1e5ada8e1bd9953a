// Watches and logs over a WebSocket, for clients that have no other streams (programs in browsers): each event, each piece of a log, is a
// message. What the client sends is ignored.

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

import { PROTOBUF_CONTENT_TYPE } from '#api/machinery/codec/protobuf/index.ts';
import { acceptWebSocket } from '#machinery/streams/remotecommand/websocket-server.ts';
import type { ApiRequest, ApiResponse, EncodedWatchEvent, ResponseFormat } from '../request.ts';

/** As messages of bytes, or of text in base64, for those who cannot read bytes. */
const BINARY = 'binary.k8s.io';
const BASE64 = 'base64.binary.k8s.io';
/** So much may wait for a slow client before more is read for it. */
const HIGH_WATER_BYTES = 1024 * 1024;

/** Whether the answer can go over a WebSocket, and the client asked for one. */
export function goesOverWebSocket(
  { headers, upgrade }: ApiRequest,
  { code, body }: ApiResponse,
): boolean {
  if (upgrade === undefined || headers['upgrade']?.toLowerCase() !== 'websocket') return false;
  return (
    code === 200 && (body.kind === 'watch' || (body.kind === 'stream' && body.gzip === undefined))
  );
}

/** Resolves when everything has been sent, or the client has gone. A client that wants another protocol is refused with 403. */
export async function sendOverWebSocket(
  response: ApiResponse,
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { body, format } = response;
  if (body.kind !== 'watch' && body.kind !== 'stream')
    throw new Error(`an answer of kind ${body.kind} is no stream`);
  const accepted = await acceptWebSocket(
    message,
    socket,
    head,
    body.kind === 'stream' ? [BINARY, BASE64] : [],
    true,
  );
  if (accepted === undefined) {
    if (body.kind === 'watch') body.events.stop();
    return;
  }
  const { webSocket, protocol } = accepted;
  webSocket.on('error', () => webSocket.terminate());
  if (body.kind === 'watch') {
    webSocket.once('close', () => body.events.stop());
    await sendAll(webSocket, body.events, (event) => messageOf(event, format));
  } else {
    await sendAll(webSocket, body.stream, (chunk) =>
      protocol === BASE64 ? Buffer.from(chunk).toString('base64') : Buffer.from(chunk),
    );
  }
  webSocket.close(1000);
}

/** JSON is text. */
function messageOf(
  event: EncodedWatchEvent,
  format: ResponseFormat | undefined,
): string | Uint8Array {
  return format?.mediaType === PROTOBUF_CONTENT_TYPE
    ? event.protobufFrame(format.protobuf)
    : Buffer.from(event.frame()).toString('utf8');
}

async function sendAll<T>(
  webSocket: WebSocket,
  items: AsyncIterable<T>,
  encode: (item: T) => string | Uint8Array,
): Promise<void> {
  for await (const item of items) {
    if (webSocket.readyState !== webSocket.OPEN) return;
    const sent = new Promise<void>((resolve) => webSocket.send(encode(item), () => resolve()));
    if (webSocket.bufferedAmount > HIGH_WATER_BYTES) await sent;
  }
}
