// Watches and logs over a WebSocket, for clients without other streams (programs in browsers). Each
// event, or each piece of a log, is a message. Messages from the client are ignored.

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

import { PROTOBUF_CONTENT_TYPE } from '#api/machinery/codec/protobuf/index.ts';
import { acceptWebSocket } from '#machinery/streams/remotecommand/websocket-server.ts';
import { withoutToken } from '../authentication/websocket-token.ts';
import type { ApiRequest, ApiResponse, EncodedWatchEvent, ResponseFormat } from '../request.ts';

/** Subprotocols: messages of bytes, or of base64 text for clients that cannot read bytes. */
const BINARY = 'binary.k8s.io';
const BASE64 = 'base64.binary.k8s.io';
/** The number of bytes that may wait for a slow client before reading stops. */
const HIGH_WATER_BYTES = 1024 * 1024;

/** Reports whether the client requested a WebSocket and the response supports it. */
export function goesOverWebSocket(
  { headers, upgrade }: ApiRequest,
  { code, body }: ApiResponse,
): boolean {
  if (upgrade === undefined || headers['upgrade']?.toLowerCase() !== 'websocket') return false;
  return (
    code === 200 && (body.kind === 'watch' || (body.kind === 'stream' && body.gzip === undefined))
  );
}

/**
 * Sends the response. Resolves when everything has been sent, or the client has disconnected. A
 * client that requests another protocol gets 403.
 */
export async function sendOverWebSocket(
  response: ApiResponse,
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { body, format } = response;
  if (body.kind !== 'watch' && body.kind !== 'stream')
    throw new Error(`a response of kind ${body.kind} is not a stream`);
  const accepted = await acceptWebSocket(
    message,
    socket,
    head,
    body.kind === 'stream' ? [BINARY, BASE64] : onlyProtocol(message),
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

/**
 * Returns the subprotocol that the client requests, if it is one. A watch has none of its own, but a
 * client with a token in the header must request another subprotocol, and expects it in the response.
 */
function onlyProtocol({ headers }: IncomingMessage): readonly string[] {
  const protocols = withoutToken(headers['sec-websocket-protocol'] ?? '').split(',');
  return protocols.length === 1 ? [protocols[0]!.trim()] : [];
}

/** Returns the message of an event. JSON is sent as text. */
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
    const sending = new Promise<void>((resolve) => webSocket.send(encode(item), () => resolve()));
    if (webSocket.bufferedAmount > HIGH_WATER_BYTES) await sending;
  }
}
