// The verbs get, list and watch.

import * as apierrors from '#machinery/apierrors.ts';
import type { Timer } from '#machinery/clock.ts';
import { endedBy, type WatchStream } from '#machinery/watch.ts';
import type { ApiRequest, ApiResponse, EncodedWatchEvent } from '../request.ts';
import { negotiate } from './negotiation.ts';
import { parseListQuery, parseWatchQuery } from './query-options.ts';
import { listResponse, objectResponse, watchResponse } from './representation.ts';
import { type Scope, ScopedContext, selectorsOf } from './scope.ts';

const LATEST = { resourceVersion: '' };

export async function handleGet(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  const { rest } = scope;
  if (rest.get === undefined) throw notServed();
  const negotiated = negotiate(request, { transforms: true, codec: scope.codec });
  const exported = request.query.get('export');
  if (exported !== null && exported !== '0' && exported.toLowerCase() !== 'false')
    throw apierrors.badRequest(
      'the export parameter, deprecated since v1.14, is no longer supported',
    );
  const resourceVersion = request.query.get('resourceVersion');
  const options = resourceVersion === null ? LATEST : { resourceVersion };
  const object = await rest.get(new ScopedContext(scope, request), request.info.name, options);
  return objectResponse(scope, request, negotiated, object, 200);
}

export async function handleList(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  const { rest } = scope;
  if (rest.list === undefined) throw notServed();
  const negotiated = negotiate(request, { transforms: true, collection: true, codec: scope.codec });
  const options = parseListQuery(request.query, selectorsOf(scope));
  const list = await rest.list(new ScopedContext(scope, request), options);
  return listResponse(scope, request, negotiated, list);
}

export async function handleWatch(
  scope: Scope,
  request: ApiRequest,
  pathName: string,
): Promise<ApiResponse> {
  const { rest, services } = scope;
  if (rest.watch === undefined) throw notServed();
  const negotiated = negotiate(request, {
    transforms: true,
    watch: true,
    collection: true,
    codec: scope.codec,
  });
  const selectors = selectorsOf(scope, pathName);
  const options = parseWatchQuery(request.query, selectors);
  // Timeouts are random, so that watches that began together do not end together.
  const chosen = services.minWatchTimeoutMs * (1 + services.random.float());
  const timeoutMs = options.timeoutSeconds > 0 ? options.timeoutSeconds * 1000 : chosen;
  const heartbeats = request.headers['coxswain-heartbeats'];
  const events = await rest.watch(new ScopedContext(scope, request), {
    ...options,
    timeoutMs,
    latestBeats: heartbeats === 'latest',
    withoutRenewals: heartbeats === 'unrenewed',
    emptyObject: () => scope.codec.emptyObject(),
  });
  if (options.sendInitialEvents === true && options.allowBookmarks)
    request.endpoint?.observeWatchList(request);
  return watchResponse(scope, request, negotiated, limitedWatch(scope, request, events, timeoutMs));
}

/**
 * Returns the watch, which ends at its timeout, when the client disconnects, or when the server
 * stops.
 */
function limitedWatch(
  scope: Scope,
  request: ApiRequest,
  events: WatchStream<EncodedWatchEvent>,
  timeoutMs: number,
): WatchStream<EncodedWatchEvent> {
  const { signal } = request;
  let timer: Timer | undefined;
  const close = request.endpoint?.open(request);
  const end = (): void => {
    close?.(200);
    timer?.cancel();
    signal.removeEventListener('abort', end);
    events.stop();
  };
  timer = scope.services.clock.setTimer(timeoutMs, end);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  return endedBy(events, end);
}

/** Returns the error for a path that exists, but not with this method. */
export const notServed = (): apierrors.StatusError => apierrors.genericStatus(405);
