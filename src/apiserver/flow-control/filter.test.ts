import { afterEach, describe, expect, test } from 'vitest';

import { flowSchemas, priorityLevelConfigurations } from '#api/groups/flowcontrol/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import type { ApiRequest, ApiResponse, Handler, UserInfo } from '../request.ts';
import { parseRequestInfo, requestInfo } from '../filters/request-info.ts';
import { rawRequest } from '../testing/requests.ts';
import { ADMIN, startTestServer, type TestServer } from '../testing/server.ts';
import { flowControlFilter } from './filter.ts';
import type { Flow } from './flow.ts';
import { FlowControl } from './flow-control.ts';

const OK: ApiResponse = { code: 200, body: { kind: 'none' } };
const USER: UserInfo = { name: 'u', groups: ['system:authenticated'] };

/** A server of few seats, whose requests execute until the test ends them. */
class Fixture {
  readonly clock = new VirtualClock();
  readonly control: FlowControl;
  readonly #executing: { readonly request: ApiRequest; readonly end: () => void }[] = [];
  readonly handle: Handler;

  constructor(seats: number) {
    this.control = new FlowControl({ clock: this.clock, seats });
    this.handle = requestInfo(
      flowControlFilter(this.control)(
        (request) =>
          new Promise((resolve) => {
            this.#executing.push({ request, end: () => resolve(OK) });
          }),
      ),
    );
  }

  /** Sends a request over a connection, or from this process. */
  send(path: string, user = USER, isRemote = true): { readonly code: Promise<number> } {
    const request = rawRequest({ path, user, ...(isRemote && { rawHeaders: [] }) });
    return { code: this.handle(request).then(({ code }) => code) };
  }

  get executing(): number {
    return this.#executing.length;
  }

  async endFirst(): Promise<void> {
    this.#executing.shift()?.end();
    await this.clock.advance(0);
  }
}

const PODS = '/api/v1/namespaces/default/pods';

/** Returns the flow of the requests here. */
function flowOf(control: FlowControl): Flow {
  const request = rawRequest({ path: PODS, user: USER });
  return control.classifier.flowOf({ info: parseRequestInfo(request), user: USER });
}

describe('without objects, the mandatory ones count', () => {
  test('requests over the limit are rejected with 429, those of this process wait', async () => {
    const fixture = new Fixture(2);
    const first = fixture.send(PODS);
    const second = fixture.send(PODS);
    expect(fixture.executing).toBe(2);
    expect(await fixture.send(PODS).code).toBe(429);
    const inside = fixture.send(PODS, USER, false);
    expect(fixture.executing).toBe(2);
    await fixture.endFirst();
    expect(await first.code).toBe(200);
    expect(fixture.executing).toBe(2);
    await fixture.endFirst();
    await fixture.endFirst();
    expect(await Promise.all([second.code, inside.code])).toEqual([200, 200]);
    expect(fixture.control.metrics.text()).toContain(
      'apiserver_flowcontrol_rejected_requests_total{priority_level="catch-all",' +
        'flow_schema="catch-all",reason="concurrency-limit"} 1\n',
    );
    fixture.control.stop();
  });

  test('requests that are executed together wait for one seat', async () => {
    const fixture = new Fixture(2);
    const { control } = fixture;
    const requests = [fixture.send(PODS), fixture.send(PODS)];
    const flow = flowOf(control);
    let end: ((executed: number) => void) | undefined;
    const begun = control.beginTogether(flow, 30).then((ended) => {
      end = ended;
    });
    await fixture.clock.advance(100);
    expect(end).toBeUndefined();
    expect(control.metrics.text()).toMatch(/current_inqueue_requests\{[^}]+catch-all"\} 30\n/);
    await fixture.endFirst();
    await begun;
    expect(control.metrics.text()).toMatch(/current_inqueue_requests\{[^}]+catch-all"\} 0\n/);
    expect(control.metrics.text()).toMatch(/current_executing_requests\{[^}]+catch-all"\} 31\n/);
    // The other request has a seat, and these have one in all.
    expect(await fixture.send(PODS).code).toBe(429);
    end?.(29);
    requests.push(fixture.send(PODS));
    expect(fixture.executing).toBe(2);
    const waited = (seconds: string): string | undefined =>
      new RegExp(`wait_duration_.*"catch-all",execute="true",le="${seconds}"} (\\d+)`).exec(
        control.metrics.text(),
      )?.[1];
    expect([waited('0.05'), waited('0.1')]).toEqual(['3', '32']);
    for (const _ of requests) await fixture.endFirst();
    expect(await Promise.all(requests.map(({ code }) => code))).toEqual([200, 200, 200]);
    control.stop();
  });

  test('administrators, logs and sessions have no limit', async () => {
    const fixture = new Fixture(1);
    const requests = [
      fixture.send(PODS),
      fixture.send(PODS, ADMIN),
      fixture.send(PODS, ADMIN),
      fixture.send(`${PODS}/p/log`),
    ];
    expect(fixture.executing).toBe(4);
    for (const _ of requests) await fixture.endFirst();
    expect(await Promise.all(requests.map(({ code }) => code))).toEqual([200, 200, 200, 200]);
    fixture.control.stop();
  });
});

describe('on a server', () => {
  let t: TestServer;
  afterEach(async () => {
    await t.stop();
    expect(t.logger.errors).toEqual([]);
  });

  const headersOf = async (path: string, user: UserInfo): Promise<ApiRequest['flow']> => {
    const request = rawRequest({ path, user });
    await t.server.handler(request);
    return request.flow;
  };

  test('requests are classified by new objects at once, and again when they are deleted', async () => {
    t = await startTestServer();
    const levels = t.client.resource(priorityLevelConfigurations);
    const schemas = t.client.resource(flowSchemas);
    const level = await levels.create({
      metadata: { name: 'mine' },
      spec: {
        type: 'Limited',
        limited: { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' } },
      },
    });
    const schema = await schemas.create({
      metadata: { name: 'mine' },
      spec: {
        matchingPrecedence: 900,
        priorityLevelConfiguration: { name: 'mine' },
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'u' } }],
            nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/version'] }],
          },
        ],
      },
    });
    await (t.clock as VirtualClock).advance(0);
    expect(await headersOf('/version', USER)).toMatchObject({
      schemaUid: schema.metadata.uid,
      levelUid: level.metadata.uid,
    });
    const other = await schemas.get('global-default');
    const otherwise = { schemaUid: other.metadata.uid };
    expect(await headersOf(PODS, USER)).toMatchObject(otherwise);
    expect(await headersOf('/version', { ...USER, name: 'v' })).toMatchObject(otherwise);
    const exempt = await schemas.get('exempt');
    expect(await headersOf('/version', ADMIN)).toMatchObject({ schemaUid: exempt.metadata.uid });
    await schemas.delete('mine');
    await (t.clock as VirtualClock).advance(0);
    expect(await headersOf('/version', USER)).toMatchObject(otherwise);
  });

  test('a server without flow control has no headers', async () => {
    t = await startTestServer({ priorityAndFairness: false });
    expect(await headersOf('/version', ADMIN)).toBeUndefined();
  });
});

describe('a level with queues', () => {
  const LEVEL = {
    metadata: { name: 'narrow', uid: 'l', resourceVersion: '1', creationTimestamp: '' },
    spec: {
      type: 'Limited',
      limited: {
        nominalConcurrencyShares: 45,
        borrowingLimitPercent: 0,
        limitResponse: {
          type: 'Queue',
          queuing: { queues: 64, handSize: 4, queueLengthLimit: 2 },
        },
      },
    },
  };
  const SCHEMA = {
    metadata: { name: 'all', uid: 's', resourceVersion: '1', creationTimestamp: '' },
    spec: {
      matchingPrecedence: 2,
      priorityLevelConfiguration: { name: 'narrow' },
      distinguisherMethod: { type: 'ByUser' },
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: '*' } }],
          resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
        },
      ],
    },
  };

  /** A level of one seat, of two seats of the server. */
  async function narrow(): Promise<Fixture> {
    const fixture = new Fixture(1);
    await fixture.control.start({
      follow: (_group, resource, keeper) => {
        const object = {
          ...(resource === 'flowschemas' ? SCHEMA : LEVEL),
          kind: '',
          apiVersion: '',
        };
        keeper.set(object, undefined as never);
        return Promise.resolve();
      },
    });
    return fixture;
  }
  const named = (name: string): UserInfo => ({ ...USER, name });

  test('rejects what waits longer than 15 s', async () => {
    const fixture = await narrow();
    const first = fixture.send(PODS);
    const second = fixture.send(PODS);
    await fixture.clock.advance('14s');
    expect(fixture.executing).toBe(1);
    await fixture.clock.advance('2s');
    expect(await second.code).toBe(429);
    await fixture.endFirst();
    expect(await first.code).toBe(200);
    expect(fixture.control.metrics.text()).toContain('reason="time-out"} 1\n');
    fixture.control.stop();
  });

  test('executes waiting requests in turn, those of a quiet user first', async () => {
    const fixture = await narrow();
    const ended: string[] = [];
    const send = (name: string): void => {
      void fixture.send(PODS, named(name), false).code.then(() => ended.push(name));
    };
    for (let count = 0; count < 8; count++) send('loud');
    await fixture.endFirst();
    await fixture.endFirst();
    send('quiet');
    while (fixture.executing > 0) {
      expect(fixture.executing).toBe(1);
      await fixture.endFirst();
    }
    expect(ended).toHaveLength(9);
    expect(ended.indexOf('quiet')).toBeLessThan(8);
    expect(fixture.control.metrics.text()).toMatch(/current_inqueue_requests\{[^}]*"all"\} 0\n/);
    fixture.control.stop();
  });

  test('rejects what finds every queue of its hand full, and lets go of clients that leave', async () => {
    const fixture = await narrow();
    const requests = Array.from({ length: 10 }, () => fixture.send(PODS, named('loud')));
    // One executes, and 4 queues take 2 each.
    expect(await requests.at(-1)!.code).toBe(429);
    const left = rawRequest({ path: PODS, user: named('other'), rawHeaders: [] });
    const leaving = fixture.handle(left);
    left.abort(new Error('the client is gone'));
    expect((await leaving).code).toBe(429);
    const text = fixture.control.metrics.text();
    expect(text).toContain('reason="queue-full"} 1\n');
    expect(text).toContain('reason="cancelled"} 1\n');
    expect(text).toMatch(/current_inqueue_requests\{[^}]*"all"\} 8\n/);
    fixture.control.stop();
  });
});
