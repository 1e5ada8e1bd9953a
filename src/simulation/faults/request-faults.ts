// Faults of requests: failures, delays, and outcomes that the client does not learn.

import type { ApiRequest, ApiResponse } from '#apiserver/request.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Fault } from './active-faults.ts';
import type { Call } from './call.ts';
import { durationMs, type FaultContext, type FaultDuration } from './context.ts';
import type { FaultSelector } from './selector.ts';

const STATUS_CODES = [409, 410, 429, 500, 502, 503, 504] as const;

/** The status codes that `fail` can answer. */
export type FaultStatus = (typeof STATUS_CODES)[number];

export interface FailOptions extends FaultSelector {
  /** Seconds in the header Retry-After, for 429 and 503. Default for 429: 1. */
  readonly retryAfterSeconds?: number;
}

export interface DelayOptions extends FaultSelector {
  /** How long a request waits before the server looks at it. */
  readonly by: FaultDuration;
}

export interface TimeoutOptions extends FaultSelector {
  /**
   * Whether the request took effect before its answer was lost. 'either': drawn from the cluster's seed each time.
   * Default: 'either'.
   */
  readonly outcome?: 'done' | 'not done' | 'either';
}

/** Answers requests with an error. They do not take effect. */
export function fail(context: FaultContext, code: FaultStatus, options: FailOptions): Fault {
  if (!STATUS_CODES.includes(code))
    throw new TypeError(
      `fault fail: ${String(code)} cannot be answered; known are ${STATUS_CODES.join(', ')}`,
    );
  const { retryAfterSeconds } = options;
  if (retryAfterSeconds !== undefined) {
    if (code !== 429 && code !== 503)
      throw new TypeError('fault fail: retryAfterSeconds is for 429 and 503');
    if (!Number.isSafeInteger(retryAfterSeconds) || retryAfterSeconds < 0)
      throw new TypeError('fault fail: retryAfterSeconds must be a whole number');
  }
  const { fault, matches, take } = context.add(`fail ${code}`, options, ['retryAfterSeconds']);
  const remove = context.config.interceptor.add({
    request: (call) =>
      matches(call) && take() ? Promise.reject(errorOf(code, call, retryAfterSeconds)) : undefined,
  });
  fault.onEnd(remove);
  return fault;
}

/** Lets requests wait before the server looks at them. */
export function delay(context: FaultContext, options: DelayOptions): Fault {
  const byMs = durationMs('delay', 'by', options.by);
  const { fault, matches, take } = context.add('delay', options, ['by']);
  const remove = context.config.interceptor.add({
    request: (call, next, request) =>
      matches(call) && take() ? handleLater(context, byMs, request, next) : undefined,
  });
  fault.onEnd(remove);
  return fault;
}

/** Lets requests wait until the fault ends or their time limit is over. */
export function hang(context: FaultContext, options: FaultSelector): Fault {
  const { fault, matches, take } = context.add('hang', options);
  const remove = context.config.interceptor.add({
    request: (call, next, request) =>
      matches(call) && take()
        ? fault.ended(request.signal).then(() => afterWait(request, next))
        : undefined,
  });
  fault.onEnd(remove);
  return fault;
}

/** Answers 504: the client does not know whether the request took effect. */
export function timeout(context: FaultContext, options: TimeoutOptions): Fault {
  const { outcome = 'either' } = options;
  if (outcome !== 'done' && outcome !== 'not done' && outcome !== 'either')
    throw new TypeError("fault timeout: outcome is 'done', 'not done' or 'either'");
  const { fault, matches, take } = context.add('timeout', options, ['outcome']);
  const { random } = context.config;
  const remove = context.config.interceptor.add({
    request: (call, next) => {
      if (!matches(call) || !take()) return undefined;
      const isDone = outcome === 'either' ? random.float() < 0.5 : outcome === 'done';
      return isDone ? next().then(timedOut) : Promise.reject(timeoutError());
    },
  });
  fault.onEnd(remove);
  return fault;
}

/** Handles a request after a while, unless it is aborted before. */
export async function handleLater(
  context: FaultContext,
  byMs: number,
  request: ApiRequest,
  handle: () => Promise<ApiResponse>,
): Promise<ApiResponse> {
  await context.config.clock.sleep(byMs, request.signal);
  return handle();
}

function afterWait(request: ApiRequest, next: () => Promise<ApiResponse>): Promise<ApiResponse> {
  request.signal.throwIfAborted();
  return next();
}

/** Discards a response. A watch in it is stopped, since it has no reader. */
function timedOut({ body }: ApiResponse): never {
  if (body.kind === 'watch') body.events.stop();
  throw timeoutError();
}

/** The error with which the server answers when the time limit of a request is over. */
function timeoutError(): apierrors.StatusError {
  return apierrors.timeoutError('request did not complete within the allotted timeout');
}

function errorOf(
  code: FaultStatus,
  call: Call,
  retryAfterSeconds: number | undefined,
): apierrors.StatusError {
  const resource = { group: call.group, resource: call.resource };
  switch (code) {
    case 409:
      return apierrors.conflict(resource, call.name, apierrors.OPTIMISTIC_LOCK_MESSAGE);
    case 410:
      return apierrors.resourceExpired('The resourceVersion for the provided watch is too old.');
    case 429:
      return apierrors.tooManyRequests(
        'the server has received too many requests and has asked us to try again later',
        retryAfterSeconds ?? 1,
      );
    case 503:
      return withRetryAfter(
        apierrors.serviceUnavailable('the server is currently unable to handle the request'),
        retryAfterSeconds,
      );
    case 504:
      return timeoutError();
    default:
      return apierrors.genericServerResponse({
        code,
        verb: call.verb,
        resource,
        name: call.name,
        serverMessage: 'fault',
        isUnexpectedResponse: true,
      });
  }
}

function withRetryAfter(
  error: apierrors.StatusError,
  retryAfterSeconds: number | undefined,
): apierrors.StatusError {
  if (retryAfterSeconds === undefined) return error;
  const { status } = error;
  return apierrors.fromStatus({ ...status, details: { ...status.details, retryAfterSeconds } });
}
