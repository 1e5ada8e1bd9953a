// Decodes responses of other API servers for clients in this process, which take objects and events
// instead of bytes.

import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { parseJsonInSteps } from '#machinery/text/json-steps.ts';
import { runStepsInTurns } from '#machinery/turn.ts';
import { type WatchEventType, WatchQueue } from '#machinery/watch.ts';
import { FreshObject } from '../../registry/encoded-object.ts';
import type { ApiRequest, ApiResponse, EncodedWatchEvent } from '../../request.ts';

/** The maximum size of an object. Objects are parsed in steps. */
const MAX_OBJECT_BYTES = 32 * 1024 * 1024;
/** The number of events that may wait for the reader. One more ends the watch. */
const MAX_EVENTS = 1000;
const NEWLINE = 0x0a;

const EVENT_TYPES: ReadonlySet<string> = new Set<WatchEventType>([
  'ADDED',
  'MODIFIED',
  'DELETED',
  'BOOKMARK',
  'ERROR',
]);

/**
 * Decodes JSON bodies and leaves others unchanged. Throws StatusError (502) for a body that is not
 * JSON.
 */
export async function decodedResponse(
  request: ApiRequest,
  response: ApiResponse,
): Promise<ApiResponse> {
  const { body, code } = response;
  if (body.kind !== 'stream' || !/^application\/json(;|$)/.test(body.contentType)) return response;
  if (code === 200 && request.info.verb === 'watch') {
    return {
      ...response,
      body: { kind: 'watch', events: readEvents(body.stream, request.signal) },
    };
  }
  return {
    ...response,
    body: { kind: 'object', object: new FreshObject(await parsed(await collected(body.stream))) },
  };
}

async function collected(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > MAX_OBJECT_BYTES) throw unusable(`it is larger than ${MAX_OBJECT_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function parsed(text: Buffer): Promise<unknown> {
  try {
    const value = await runStepsInTurns(parseJsonInSteps(text));
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    throw unusable(errorMessage(error));
  }
  throw unusable('it is not an object');
}

function unusable(why: string): apierrors.StatusError {
  const serverMessage = `the response of the aggregated API server cannot be read: ${why}`;
  return apierrors.genericServerResponse({
    code: 502,
    verb: '',
    serverMessage,
    isUnexpectedResponse: true,
  });
}

/** Reads events, one on each line. If the stream ends early, the queue fails with its error. */
function readEvents(
  stream: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): WatchQueue<EncodedWatchEvent> {
  let stopped = false;
  const events = new WatchQueue<EncodedWatchEvent>({
    limit: MAX_EVENTS,
    onStop: () => (stopped = true),
  });
  const read = async (): Promise<void> => {
    // The parts of the unfinished line, and their length.
    let [pending, length]: [Uint8Array[], number] = [[], 0];
    for await (const chunk of stream) {
      let rest = chunk;
      for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
        const line = Buffer.concat([...pending, rest.subarray(0, end)]);
        [pending, length] = [[], 0];
        rest = rest.subarray(end + 1);
        if (!isBlank(line)) events.push(await eventOf(line));
        if (stopped) return;
      }
      length += rest.length;
      if (length > MAX_OBJECT_BYTES)
        throw unusable(`an event is larger than ${MAX_OBJECT_BYTES} bytes`);
      pending.push(rest);
    }
    events.close();
  };
  read().catch((error: unknown) => {
    if (signal.aborted) events.close();
    else events.fail(error);
  });
  return events;
}

/** Reports whether a line has only a carriage return or a space. */
function isBlank(line: Buffer): boolean {
  return line.length < 8 && line.toString('utf8').trim() === '';
}

async function eventOf(line: Buffer): Promise<EncodedWatchEvent> {
  const { type, object } = (await parsed(line)) as {
    readonly type?: unknown;
    readonly object?: unknown;
  };
  if (typeof type !== 'string' || !EVENT_TYPES.has(type) || typeof object !== 'object')
    throw unusable('it is no watch event');
  const encoded = new FreshObject(object);
  return {
    type: type as WatchEventType,
    object: encoded,
    frame: () => Buffer.concat([line, Buffer.of(NEWLINE)]),
    protobufFrame: () => {
      throw new Error('events of an aggregated API server are not available in protobuf');
    },
  };
}
