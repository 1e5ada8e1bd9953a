// Responses of other API servers for clients in this process, which take objects and events, not bytes.

import * as apierrors from '#machinery/apierrors.ts';
import { WatchQueue } from '#machinery/watch.ts';
import type { WatchEventType } from '#machinery/watch.ts';
import { FreshObject } from '../../registry/encoded-object.ts';
import type { ApiRequest, ApiResponse, EncodedWatchEvent } from '../../request.ts';

/** A larger object is an error: it would hold up the event loop for too long. */
const MAX_OBJECT_BYTES = 32 * 1024 * 1024;
/** So many events may wait for the reader; with more the watch ends. */
const MAX_EVENTS = 1000;

const EVENT_TYPES: ReadonlySet<string> = new Set<WatchEventType>(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

/** Decodes JSON bodies; others stay as they are. Throws StatusError (502) for a body that is no JSON. */
export async function decodedResponse(request: ApiRequest, response: ApiResponse): Promise<ApiResponse> {
  const { body, code } = response;
  if (body.kind !== 'stream' || !/^application\/json(;|$)/.test(body.contentType)) return response;
  if (code === 200 && request.info.verb === 'watch') {
    return { ...response, body: { kind: 'watch', events: readEvents(body.stream, request.signal) } };
  }
  return { ...response, body: { kind: 'object', object: new FreshObject(parsed(await collected(body.stream))) } };
}

async function collected(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > MAX_OBJECT_BYTES) throw unusable(`it is larger than ${MAX_OBJECT_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    throw unusable((error as Error).message);
  }
  throw unusable('it is no object');
}

function unusable(why: string): apierrors.StatusError {
  const serverMessage = `the response of the aggregated API server cannot be read: ${why}`;
  return apierrors.genericServerResponse({ code: 502, verb: '', serverMessage, isUnexpectedResponse: true });
}

/** Reads events, one on each line. The queue fails with what ends the stream early. */
function readEvents(stream: AsyncIterable<Uint8Array>, signal: AbortSignal): WatchQueue<EncodedWatchEvent> {
  let stopped = false;
  const events = new WatchQueue<EncodedWatchEvent>({ limit: MAX_EVENTS, onStop: () => (stopped = true) });
  const read = async (): Promise<void> => {
    let rest: Buffer<ArrayBufferLike> = Buffer.alloc(0);
    for await (const chunk of stream) {
      if (stopped) return;
      rest = Buffer.concat([rest, chunk]);
      if (rest.length > MAX_OBJECT_BYTES) throw unusable(`an event is larger than ${MAX_OBJECT_BYTES} bytes`);
      for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
        const line = rest.toString('utf8', 0, end);
        rest = rest.subarray(end + 1);
        if (line.trim() !== '') events.push(eventOf(line));
      }
    }
    events.close();
  };
  read().catch((error: unknown) => {
    if (signal.aborted) events.close();
    else events.fail(error);
  });
  return events;
}

function eventOf(line: string): EncodedWatchEvent {
  const { type, object } = parsed(line) as { readonly type?: unknown; readonly object?: unknown };
  if (typeof type !== 'string' || !EVENT_TYPES.has(type) || typeof object !== 'object') throw unusable('it is no watch event');
  const encoded = new FreshObject(object);
  return {
    type: type as WatchEventType,
    object: encoded,
    frame: () => Buffer.from(`${line}\n`, 'utf8'),
    protobufFrame: () => {
      throw new Error('events of an aggregated API server are not there in protobuf');
    },
  };
}
