// Writes an ApiResponse to a connection, the same for HTTP/1.1 and HTTP/2.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import type { Writable } from 'node:stream';
import { createGzip, gzip } from 'node:zlib';
import { inNextTurn, outsideWork } from '#machinery/pending-work.ts';
import { nextTurn } from '#machinery/turn.ts';

import { PROTOBUF_CONTENT_TYPE } from '#api/machinery/codec/protobuf/index.ts';
import type {
  ApiRequest,
  ApiResponse,
  EncodedObject,
  ResponseBody,
  ResponseFormat,
} from '../request.ts';
import { EncodingSlices, jsonLayout, type ListLayout, protobufLayout } from './list-layout.ts';
import { readableList } from './readable-list.ts';
import { type ResponseHeaders, type ResponseSink, write } from './response-sink.ts';
import { sendWatch } from './send-watch.ts';
import { sentWarnings, warningHeader } from './warnings.ts';

const NO_CACHE = 'no-cache, private';
/** The approximate size of the pieces in which bodies are written. */
const CHUNK_BYTES = 256 * 1024;
/** Larger bodies are compressed if the client accepts it. */
const GZIP_THRESHOLD_BYTES = 128 * 1024;
/** The fastest level: the purpose is to save network bandwidth, not the last percent. */
const GZIP_LEVEL = 1;
const DEFAULT_FORMAT: ResponseFormat = { mediaType: 'application/json' };

/**
 * Writes the response. Resolves when it has been handed to the connection completely, or the client
 * has disconnected. Undefined: that is already so, as for almost all objects.
 */
export function respond(
  request: ApiRequest | undefined,
  response: ApiResponse,
  sink: ResponseSink,
): Promise<void> | undefined {
  const { body, format = DEFAULT_FORMAT } = response;
  if (body.kind !== 'object' || request?.method === 'HEAD')
    return respondInPieces(request, response, sink);
  const bytes = encodedObject(body.object, format);
  if (bytes === undefined || bytes.length > GZIP_THRESHOLD_BYTES)
    return respondInPieces(request, response, sink);
  const headers = headersOf(request, response);
  headers['content-type'] = format.mediaType;
  observeSize(request, bytes.length);
  sink.whole(response.code, headers, bytes);
  return undefined;
}

/** Records the size of a complete response, or of one with a known length. */
function observeSize(request: ApiRequest | undefined, length: number): void {
  request?.responseSizes?.observe(length);
}

function headersOf(request: ApiRequest | undefined, response: ApiResponse): ResponseHeaders {
  const headers: ResponseHeaders = { 'cache-control': NO_CACHE, ...response.headers };
  const auditId = request?.auditId;
  // A proxied API server may have set its own.
  if (auditId !== undefined && headers['audit-id'] === undefined) headers['audit-id'] = auditId;
  const flow = request?.flow;
  if (flow !== undefined) {
    headers['x-kubernetes-pf-flowschema-uid'] ??= flow.schemaUid;
    headers['x-kubernetes-pf-prioritylevel-uid'] ??= flow.levelUid;
  }
  if (request !== undefined && request.warnings.length > 0)
    headers['warning'] = sentWarnings(request.warnings).map(warningHeader);
  return headers;
}

async function respondInPieces(
  request: ApiRequest | undefined,
  response: ApiResponse,
  sink: ResponseSink,
): Promise<void> {
  const { body, code } = response;
  const format = response.format ?? DEFAULT_FORMAT;
  const headers = headersOf(request, response);
  const head = request?.method === 'HEAD';
  switch (body.kind) {
    case 'none':
      sink.whole(code, headers, undefined);
      return;
    case 'object': {
      headers['content-type'] = format.mediaType;
      await sendComplete(request, sink, code, headers, await encode(body.object, format), head);
      return;
    }
    case 'list': {
      headers['content-type'] = format.mediaType;
      if (format.mediaType === PROTOBUF_CONTENT_TYPE) {
        const layout = await protobufLayout(body, format.protobuf);
        await sendList(request, sink, code, headers, layout);
        return;
      }
      if (format.mediaType === 'application/json' && format.pretty !== true) {
        await sendList(request, sink, code, headers, jsonLayout(body));
        return;
      }
      await sendComplete(request, sink, code, headers, await readableList(body, format), head);
      return;
    }
    case 'watch':
      // In protobuf a stream has another content type than a single message; in JSON they are the
      // same.
      headers['content-type'] =
        format.mediaType === PROTOBUF_CONTENT_TYPE
          ? `${format.mediaType};stream=watch`
          : format.mediaType;
      sink.begin(code, headers, undefined);
      await sendWatch(sink, body.events, format);
      return;
    case 'text':
      if (body.contentType !== '') headers['content-type'] = body.contentType;
      await sendComplete(request, sink, code, headers, Buffer.from(body.text, 'utf8'), head);
      return;
    case 'bytes':
      headers['content-type'] = body.contentType;
      await sendComplete(request, sink, code, headers, body.bytes, head);
      return;
    case 'stream':
      if (body.contentType !== '') headers['content-type'] = body.contentType;
      if (body.gzip !== undefined) {
        await sendCompressed(request, sink, code, headers, body);
        return;
      }
      sink.begin(code, headers, body.length);
      await sendStream(sink, body.stream);
      return;
    case 'taken':
      await body.done;
  }
}

async function encode(object: EncodedObject, format: ResponseFormat): Promise<Uint8Array> {
  return encodedObject(object, format) ?? encodeValue(object.object(), format);
}

/** Returns the object's cached encoding. Undefined for indented and YAML forms. */
function encodedObject(object: EncodedObject, format: ResponseFormat): Uint8Array | undefined {
  if (format.mediaType === PROTOBUF_CONTENT_TYPE) return object.protobuf(format.protobuf);
  if (format.mediaType === 'application/json' && format.pretty !== true) return object.jsonLine();
  return undefined;
}

async function encodeValue(value: unknown, format: ResponseFormat): Promise<Uint8Array> {
  // Compact JSON is a line, and indented JSON ends with its brace, as upstream.
  if (format.mediaType === 'application/json') return Buffer.from(stringifyJson(value, 2), 'utf8');
  const { formatYaml } = await outsideWork(import('#api/machinery/codec/format-yaml.ts'));
  return Buffer.from(formatYaml(value), 'utf8');
}

async function sendComplete(
  request: ApiRequest | undefined,
  sink: ResponseSink,
  code: number,
  headers: ResponseHeaders,
  body: Uint8Array,
  head: boolean,
): Promise<void> {
  if (head) {
    sink.begin(code, headers, body.length);
    sink.writable.end();
    return;
  }
  const isEncoded = headers['content-encoding'] !== undefined;
  if (!isEncoded && body.length > GZIP_THRESHOLD_BYTES && acceptsGzip(request)) {
    const compressed = await outsideWork(
      new Promise<Uint8Array>((resolve, reject) => {
        gzip(body, { level: GZIP_LEVEL }, (error, result) =>
          error === null ? resolve(result) : reject(error),
        );
      }),
    );
    headers['content-encoding'] = 'gzip';
    headers['vary'] = 'Accept-Encoding';
    observeSize(request, compressed.length);
    sink.whole(code, headers, compressed);
    return;
  }
  observeSize(request, body.length);
  if (body.length <= CHUNK_BYTES) {
    sink.whole(code, headers, body);
    return;
  }
  sink.begin(code, headers, body.length);
  for (let at = 0; at < body.length && sink.open; at += CHUNK_BYTES) {
    await write(sink, sink.writable, body.subarray(at, at + CHUNK_BYTES));
  }
  sink.writable.end();
}

/** The number of encoded items whose lengths are added in one turn of the event loop. */
const MEASURED_PER_TURN = 50_000;

/** Sends the items' bytes in large chunks. */
async function sendList(
  request: ApiRequest | undefined,
  sink: ResponseSink,
  code: number,
  headers: ResponseHeaders,
  list: ListLayout,
): Promise<void> {
  const { head, tail, count } = list;
  let length = head.length + tail.length;
  const slices = new EncodingSlices();
  for (let index = 0; index < count; index++) {
    if (index % MEASURED_PER_TURN === MEASURED_PER_TURN - 1) await nextTurn();
    if (slices.isOver) await slices.next();
    const itemLength = list.itemLength(index);
    if (!list.isEncoded(index)) slices.add(itemLength);
    length += itemLength;
  }
  if (length <= CHUNK_BYTES) {
    const body = Buffer.allocUnsafe(length);
    body.set(head);
    let at = head.length;
    for (let index = 0; index < count; index++) at = list.copyItem(index, body, at);
    body.set(tail, at);
    await sendComplete(request, sink, code, headers, body, request?.method === 'HEAD');
    return;
  }
  const compress = acceptsGzip(request);
  if (compress) {
    headers['content-encoding'] = 'gzip';
    headers['vary'] = 'Accept-Encoding';
  }
  sink.begin(code, headers, compress ? undefined : length);
  if (request?.method === 'HEAD') {
    sink.writable.end();
    return;
  }
  let target = sink.writable;
  if (compress) {
    const encoder = createGzip({ level: GZIP_LEVEL });
    let compressed = 0;
    encoder.on('data', (chunk: Buffer) => (compressed += chunk.length));
    encoder.once('end', () => observeSize(request, compressed));
    encoder.on('error', () => destroyLater(sink));
    encoder.pipe(sink.writable);
    target = encoder;
  }
  if (!compress) observeSize(request, length);
  const closed = new Promise<void>((resolve) => sink.writable.once('close', resolve));
  let written: Promise<void> | undefined;
  let chunk = takeChunk(head.length);
  chunk.set(head);
  let at = head.length;
  for (let index = 0; index < count; index++) {
    const itemLength = list.itemLength(index);
    if (at + itemLength > chunk.length) {
      // One chunk is being sent while the next one is filled.
      if (written !== undefined) await Promise.race([written, closed]);
      if (!sink.open) return;
      written = writeChunk(target, chunk, at);
      chunk = takeChunk(itemLength);
      at = 0;
    }
    at = list.copyItem(index, chunk, at);
  }
  if (written !== undefined) await Promise.race([written, closed]);
  if (!sink.open) return;
  await Promise.race([writeChunk(target, chunk, at), closed]);
  target.end(tail);
}

/**
 * Chunks that were sent and can be filled again: allocating memory costs more than copying into it.
 */
const freeChunks: Buffer[] = [];
const MAX_FREE_CHUNKS = 16;

function takeChunk(atLeast: number): Buffer {
  return atLeast <= CHUNK_BYTES
    ? (freeChunks.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES))
    : Buffer.allocUnsafeSlow(atLeast);
}

/**
 * Writes a chunk. Resolves when the connection no longer needs the chunk, which must not be
 * modified before. May never resolve if the connection breaks.
 */
function writeChunk(writable: Writable, chunk: Buffer, length: number): Promise<void> {
  return new Promise((resolve) => {
    writable.write(chunk.subarray(0, length), (error) => {
      const done = error === null || error === undefined;
      if (done && chunk.length === CHUNK_BYTES && freeChunks.length < MAX_FREE_CHUNKS)
        freeChunks.push(chunk);
      resolve();
    });
  });
}

/**
 * Ends a response abnormally, in the next turn of the event loop. Now, an HTTP/2 session may be in
 * the middle of input that goes on with this stream: Node would free the stream, and then use it.
 */
function destroyLater({ writable }: ResponseSink, error?: Error): void {
  inNextTurn(() => writable.destroy(error));
}

async function sendStream(
  sink: ResponseSink,
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  try {
    for await (const chunk of stream) {
      if (!sink.open) return;
      await write(sink, sink.writable, chunk);
    }
    sink.writable.end();
  } catch (error) {
    // The status has been sent, so only an abnormal end can show that something is missing.
    destroyLater(sink, error instanceof Error ? error : undefined);
  }
}

/** Sends a compressed body: unchanged, or decompressed. */
async function sendCompressed(
  request: ApiRequest | undefined,
  sink: ResponseSink,
  code: number,
  headers: ResponseHeaders,
  { stream, length, gzip }: Extract<ResponseBody, { kind: 'stream' }>,
): Promise<void> {
  const compressed = acceptsGzip(request) ? gzip : undefined;
  if (compressed !== undefined) {
    headers['content-encoding'] = 'gzip';
    const vary = headers['vary'];
    headers['vary'] =
      vary === undefined ? 'Accept-Encoding' : [vary, 'Accept-Encoding'].flat().join(', ');
  }
  const bodyBytes = compressed?.gzipLength ?? length;
  sink.begin(code, headers, bodyBytes);
  if (request?.method === 'HEAD') {
    sink.writable.end();
    return;
  }
  if (bodyBytes !== undefined) observeSize(request, bodyBytes);
  await sendStream(sink, compressed?.gzip() ?? stream);
}

function acceptsGzip(request: ApiRequest | undefined): boolean {
  const accept = request?.headers['accept-encoding'];
  return accept !== undefined && /(^|,)\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*(,|$))|,|$)/.test(accept);
}
