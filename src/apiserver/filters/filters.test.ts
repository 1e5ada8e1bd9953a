import { describe, expect, test } from 'vitest';

import { VirtualClock } from '#machinery/clock.ts';
import type { ApiResponse, Handler, UserInfo } from '../request.ts';
import { rawRequest } from '../testing/requests.ts';
import { ADMIN, RecordingLogger } from '../testing/server.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { attributesOf, forbiddenError } from './authorization.ts';
import { Deadlines } from './deadline.ts';
import { maxInFlight } from './max-in-flight.ts';
import { panicRecovery } from './panic-recovery.ts';
import { requestInfo } from './request-info.ts';

const OK: ApiResponse = { code: 200, body: { kind: 'none' } };
const USER: UserInfo = { name: 'u', groups: [] };
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A handler whose requests wait until the test calls their functions in `waiting`. */
class Held {
  readonly waiting: (() => void)[] = [];
  readonly handle: Handler = () => new Promise((resolve) => this.waiting.push(() => resolve(OK)));
}

describe('panicRecovery', () => {
  test('responds 500 without details, and logs them', async () => {
    const logger = new RecordingLogger();
    const handler = panicRecovery(logger)(() => Promise.reject(new TypeError('secret detail')));
    const { code, body } = await handler(rawRequest({ path: '/x' }));
    expect(code).toBe(500);
    expect(JSON.stringify(body.kind === 'object' && body.object.object())).not.toContain('secret');
    expect(logger.errors.join()).toContain('secret detail');
  });
});

test('a denied request has a header that other errors do not have, as upstream', async () => {
  const headersOf = async (error: Error): Promise<unknown> => {
    const failing: Handler = async () => {
      throw error;
    };
    const handler = panicRecovery(new RecordingLogger())(failing);
    return (await handler(rawRequest({ path: '/x' }))).headers;
  };
  const attributes = attributesOf(rawRequest({ path: '/x', user: USER }));
  expect(await headersOf(forbiddenError(attributes, 'no'))).toEqual({
    'x-content-type-options': 'nosniff',
  });
  expect(
    await headersOf(apierrors.forbidden({ group: '', resource: 'pods' }, 'p', 'exceeded quota')),
  ).toBeUndefined();
});

describe('deadlines', () => {
  test('end requests that take too long, with an error', async () => {
    const clock = new VirtualClock();
    const deadlines = new Deadlines({ clock, timeoutMs: 60_000 });
    const held = new Held();
    const handler = requestInfo(deadlines.filter(held.handle));
    const request = rawRequest({ path: '/api/v1/pods' });
    const answer = handler(request).catch((error: unknown) => error);
    const watch = handler(rawRequest({ path: '/api/v1/pods?watch=1' }));
    await clock.advance('62s');
    expect(await answer).toMatchObject({
      code: 504,
      message: 'Timeout: request did not complete within the allotted timeout',
    });
    expect(request.signal.aborted).toBe(true);
    held.waiting[1]?.();
    expect(await watch).toBe(OK);
    deadlines.stop();
  });

  test('may be shorter than the server’s limit by ?timeout=, never longer', async () => {
    const clock = new VirtualClock();
    const deadlines = new Deadlines({ clock, timeoutMs: 60_000 });
    const held = new Held();
    const handler = requestInfo(deadlines.filter(held.handle));
    const ask = (timeout: string) =>
      handler(rawRequest({ path: `/api/v1/pods?timeout=${timeout}` })).catch(
        (error: unknown) => error,
      );
    const [short, long] = [ask('5s'), ask('2h')];
    await clock.advance('7s');
    expect(await short).toMatchObject({ code: 504 });
    await clock.advance('55s');
    expect(await long).toMatchObject({ code: 504 });
    expect(await ask('soon')).toMatchObject({
      code: 400,
      message: expect.stringContaining('invalid timeout specified in the request URL'),
    });
    deadlines.stop();
  });

  test('do not affect long-running requests', async () => {
    const clock = new VirtualClock();
    const deadlines = new Deadlines({ clock, timeoutMs: 1000 });
    const request = rawRequest({ path: '/api/v1/pods' });
    expect(await requestInfo(deadlines.filter(() => Promise.resolve(OK)))(request)).toBe(OK);
    await clock.advance('1h');
    expect(request.signal.aborted).toBe(false);
    deadlines.stop();
  });
});

describe('maxInFlight', () => {
  test('admits some, queues some, and rejects the rest', async () => {
    const held = new Held();
    const handler = requestInfo(maxInFlight({ maxReads: 2, maxWaiting: 1 })(held.handle));
    const ask = (path = '/api/v1/pods', user = USER) => handler(rawRequest({ path, user }));
    const first = ask();
    const second = ask();
    const third = ask();
    await turn();
    expect(held.waiting).toHaveLength(2);
    await expect(ask()).rejects.toMatchObject({
      code: 429,
      status: { details: { retryAfterSeconds: 1 } },
    });
    // Watches and requests of administrators are not counted, and writes are counted separately.
    const watch = ask('/api/v1/pods?watch=1');
    const admin = ask('/api/v1/pods', ADMIN);
    await turn();
    expect(held.waiting).toHaveLength(4);
    held.waiting[0]?.();
    await first;
    await turn();
    expect(held.waiting).toHaveLength(5);
    for (const release of held.waiting) release();
    await Promise.all([second, third, watch, admin]);
    const again = ask();
    await turn();
    held.waiting[5]?.();
    expect(await again).toBe(OK);
  });
});
