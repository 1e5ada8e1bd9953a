import { describe, expect, test } from 'vitest';
import type { Event } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { createClient } from '../create-client.ts';
import { createInProcessTransport, type InProcessHandler } from '../in-process.ts';
import { EventRecorder } from './event-recorder.ts';

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'x', name: 'a', uid: 'u1', resourceVersion: '7', creationTimestamp: '' },
};

/** Sets up a recorder. `fail`: the errors with which the server rejects the next requests. */
function setUp(
  fail: (Error | undefined)[] = [],
  options: { queueLimit?: number; perSecond?: number; burst?: number } = {},
) {
  const clock = new VirtualClock({ start: Date.UTC(2026, 0, 2, 3, 4, 5, 600) });
  const logger = recordingLogger();
  const requests: { method: string; path: string; body: Immutable<Event> }[] = [];
  const handler: InProcessHandler = async ({ method, path, body }) => {
    requests.push({ method, path, body: body.object as Immutable<Event> });
    const failure = fail.shift();
    if (failure !== undefined) throw failure;
    return { code: 200, body: { kind: 'object', object: { object: () => body.object } } };
  };
  const client = createClient(createInProcessTransport({ handler }));
  const recorder = new EventRecorder({
    client,
    clock,
    random: new SeededRandom(1),
    logger,
    component: 'tester',
    host: 'n1',
    ...options,
  });
  return { clock, logger, requests, recorder };
}

describe('EventRecorder', () => {
  test('sends in order, a burst at once and the others at the configured rate', async () => {
    const { clock, requests, recorder } = setUp([], { perSecond: 2, burst: 3 });
    for (let i = 0; i < 6; i++)
      recorder.event(
        { ...pod, metadata: { ...pod.metadata, uid: `u${i}` } },
        'Normal',
        'Started',
        `${i}`,
      );
    await clock.advance(0);
    const sent = () => requests.map(({ body }) => body.message);
    expect(sent()).toEqual(['0', '1', '2']);
    await clock.advance('600ms');
    expect(sent()).toEqual(['0', '1', '2', '3']);
    await clock.advance('1s');
    expect(sent()).toEqual(['0', '1', '2', '3', '4', '5']);
    recorder.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  test('sends every event, also one that is added when the queue has just become empty', async () => {
    for (let turns = 0; turns < 40; turns++) {
      const { clock, requests, recorder } = setUp();
      recorder.event(pod, 'Normal', 'Started', 'it runs');
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      recorder.event(
        { ...pod, metadata: { ...pod.metadata, uid: 'u2' } },
        'Normal',
        'Started',
        'it runs, too',
      );
      await clock.settle();
      expect(requests, `after ${turns} turns`).toHaveLength(2);
    }
  });

  test('creates an event without blocking the caller', async () => {
    const { requests, recorder } = setUp();
    recorder.event(pod, 'Normal', 'Started', 'it runs', { action: 'Starting' });
    expect(requests).toEqual([]);
    await recorder.flush();
    expect(requests).toEqual([
      {
        method: 'POST',
        path: '/api/v1/namespaces/x/events',
        body: {
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { name: expect.stringMatching(/^a\.[0-9a-f]{16}$/), namespace: 'x' },
          involvedObject: {
            apiVersion: 'v1',
            kind: 'Pod',
            namespace: 'x',
            name: 'a',
            uid: 'u1',
            resourceVersion: '7',
          },
          reason: 'Started',
          message: 'it runs',
          source: { component: 'tester', host: 'n1' },
          firstTimestamp: '2026-01-02T03:04:05Z',
          lastTimestamp: '2026-01-02T03:04:05Z',
          count: 1,
          type: 'Normal',
          eventTime: null,
          action: 'Starting',
          reportingComponent: 'tester',
          reportingInstance: 'n1',
        },
      },
    ]);
    recorder.event({ kind: 'Node', name: 'n1', uid: 'n1' }, 'Normal', 'Ready', 'it is ready');
    await recorder.flush();
    expect(requests[1]).toMatchObject({
      path: '/api/v1/namespaces/default/events',
      body: { involvedObject: { kind: 'Node', name: 'n1' } },
    });
  });

  test('increases the count of a repeated event, and creates it again if it has expired', async () => {
    const { clock, requests, recorder } = setUp([
      undefined,
      undefined,
      apierrors.notFound({ group: '', resource: 'events' }, 'x'),
    ]);
    for (let i = 0; i < 3; i++) {
      recorder.event(pod, 'Warning', 'BackOff', 'again');
      await clock.advance('10s');
    }
    await recorder.flush();
    const name = requests[0]?.body.metadata.name;
    expect(requests.slice(1).map(({ method, path }) => `${method} ${path}`)).toEqual([
      `PATCH /api/v1/namespaces/x/events/${name}`,
      `PATCH /api/v1/namespaces/x/events/${name}`,
      'POST /api/v1/namespaces/x/events',
    ]);
    expect(requests[1]?.body).toEqual({
      count: 2,
      lastTimestamp: '2026-01-02T03:04:15Z',
      message: 'again',
    });
    expect(requests[3]?.body).toMatchObject({
      metadata: { name },
      count: 3,
      firstTimestamp: '2026-01-02T03:04:05Z',
      lastTimestamp: '2026-01-02T03:04:25Z',
    });
  });

  test('combines events that differ only in their message, from the tenth on', async () => {
    const { requests, recorder } = setUp();
    for (let i = 0; i < 12; i++) recorder.event(pod, 'Warning', 'Failed', `message ${i}`);
    await recorder.flush();
    expect(requests.slice(0, 9).every(({ method }) => method === 'POST')).toBe(true);
    expect(requests[9]).toMatchObject({
      method: 'POST',
      body: { message: '(combined from similar events): message 9' },
    });
    expect(
      requests.slice(10).map(({ method, body }) => [method, body.count, body.message]),
    ).toEqual([
      ['PATCH', 2, '(combined from similar events): message 10'],
      ['PATCH', 3, '(combined from similar events): message 11'],
    ]);
  });

  test('does not combine events more than ten minutes apart', async () => {
    const { clock, requests, recorder } = setUp();
    for (let i = 0; i < 12; i++) {
      recorder.event(pod, 'Warning', 'Failed', `message ${i}`);
      await clock.advance('11m');
    }
    await recorder.flush();
    expect(requests.map(({ body }) => body.message)).toEqual(
      Array.from({ length: 12 }, (_, i) => `message ${i}`),
    );
  });

  test(
    'sends 25 events about an object, then one every five minutes; ' +
      'other objects are not affected',
    async () => {
      const { clock, requests, recorder } = setUp();
      const spam = (times: number) => {
        for (let i = 0; i < times; i++) recorder.event(pod, 'Normal', `Reason${i}`, 'x');
      };
      spam(40);
      await recorder.flush();
      expect(requests.length).toBe(25);
      recorder.event(
        { ...pod, metadata: { ...pod.metadata, uid: 'u2' } },
        'Normal',
        'Started',
        'x',
      );
      await recorder.flush();
      expect(requests.length).toBe(26);
      await clock.advance('5m');
      spam(5);
      await recorder.flush();
      expect(requests.length).toBe(27);
    },
  );

  test('retries in order while the server is unreachable, and drops events beyond the limit', async () => {
    const away = () => apierrors.serviceUnavailable('away');
    const { clock, logger, requests, recorder } = setUp([away(), away()], { queueLimit: 2 });
    for (const reason of ['A', 'B', 'C']) recorder.event(pod, 'Normal', reason, 'x');
    await clock.advance('1m');
    await recorder.flush();
    expect(requests.map(({ body }) => body.reason)).toEqual(['A', 'A', 'A', 'B']);
    expect(logger.records).toMatchObject([
      {
        level: 'debug',
        message: 'event recorder: queue is full, events dropped',
        values: { count: 1 },
      },
    ]);
  });

  test('logs rejected events and continues; rejections of a terminating namespace are not logged', async () => {
    const terminating = apierrors.fromStatus({
      ...apierrors.forbidden({ group: '', resource: 'events' }, 'a', 'x').status,
      details: { causes: [{ reason: 'NamespaceTerminating' }] },
    });
    const { logger, requests, recorder } = setUp([apierrors.badRequest('no'), terminating]);
    for (const reason of ['A', 'B', 'C']) recorder.event(pod, 'Normal', reason, 'x');
    await recorder.flush();
    expect(requests.length).toBe(3);
    expect(logger.records.map(({ level, values }) => [level, values['reason']])).toEqual([
      ['warn', 'A'],
      ['debug', 'B'],
    ]);
    recorder.stop();
    recorder.event(pod, 'Normal', 'D', 'x');
    await recorder.flush();
    expect(requests.length).toBe(3);
  });
});
