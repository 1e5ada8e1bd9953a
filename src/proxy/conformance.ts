// The conformance suite of the proxy's back ends, with real connections. A back end names
// unsupported features in `cannot`, with the reason for users; their tests are skipped with that
// name.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Claims } from './claims.ts';
import { decide } from './decide.ts';
import type { Backend, NodeFacts, Service, Slice } from './model.ts';
import type { Attempt, Request } from '#machinery/net/testing/agent.ts';
import { NODE, service, slice } from './testing/objects.ts';

/** The origin of a connection: another machine, the node itself, a pod of the node. */
export type Origin = 'client' | 'node' | 'pod1';

export type Ability =
  | 'cluster IPs'
  | 'external addresses'
  | 'pods as clients'
  | 'source addresses'
  | 'dropping'
  | 'rules that outlive the process'
  | 'IPv6';

/** A proxy that reads the objects itself, such as one in another process. */
export interface ObjectProxy {
  /** Replaces all objects, and resolves when the new ones are in effect. */
  apply(services: readonly Service[], slices: readonly Slice[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * A system under test, with endpoints at 10.0.0.1 (pod1) and 10.0.0.2 (pod2) on the node, and
 * 10.0.1.1 (other1), 10.0.1.2 (other2) elsewhere.
 */
export interface ProxyTarget {
  /** Returns a new back end for the same system, as after a restart. */
  backend(): Backend | ObjectProxy;
  connect(origin: Origin, request: Request): Promise<Attempt>;
  stop(): Promise<void>;
}

export interface ProxyConformanceConfig {
  readonly name: string;
  /** The reason why the suite cannot run here; undefined if it can. */
  readonly missing: string | undefined;
  readonly cannot?: Partial<Record<Ability, string>>;
  start(): Promise<ProxyTarget>;
}

const FACTS: NodeFacts = { ...NODE, addresses: new Set(['192.168.0.1', 'fd00:0:0:1::1']) };
const CLUSTER = { host: '10.96.0.10', port: 80 };
const NODE_PORT = { host: '192.168.0.1', port: 30_080 };
const EXTERNAL = { host: '203.0.113.7', port: 80 };
const BALANCED = { host: '203.0.113.8', port: 80 };
const HERE = ['10.0.0.1 here', '10.0.0.2 here'];
const THERE = ['10.0.1.1 there', '10.0.1.2 there'];

/** So long a client waits for an answer that is not to come. */
const DROPPED_MS = 1500;

const PORTS = [{ port: 80, targetPort: 8080, nodePort: 30_080 }];
const everywhere = (spec: Partial<Service['spec']> = {}): Service =>
  service({ type: 'LoadBalancer', externalIPs: [EXTERNAL.host], ports: PORTS, ...spec }, 'web', [
    BALANCED.host,
  ]);
const udp = (spec: Partial<Service['spec']> = {}): Service =>
  service({ type: 'NodePort', ports: [{ ...PORTS[0], protocol: 'UDP' }], ...spec } as never);
const UDP_PORTS = { ports: [{ name: '', port: 8080, protocol: 'UDP' }] as never };

export function proxyConformance({
  name,
  missing,
  cannot = {},
  start,
}: ProxyConformanceConfig): void {
  describe.skipIf(missing !== undefined)(
    `${name}${missing === undefined ? '' : ` (skipped: ${missing})`}`,
    () => {
      let target: ProxyTarget;
      let backend: Backend | ObjectProxy;
      let claims: Claims;
      let keys = new Set<string>();

      beforeAll(async () => {
        target = await start();
      });
      afterAll(() => target?.stop());
      beforeEach(() => {
        backend = target.backend();
        claims = new Claims();
        keys = new Set();
      });
      afterEach(async () => {
        await apply([], []);
        await backend.close();
      });

      /** Replaces all services and slices. */
      const apply = async (
        services: readonly Service[],
        slices: readonly Slice[],
        complete = false,
      ): Promise<void> => {
        if ('apply' in backend) {
          await backend.apply(services, slices);
          return;
        }
        const rules = decide(services, slices, FACTS);
        const isFirst = complete || keys.size === 0;
        const changes = new Map<string, ReturnType<typeof rules.get>>(
          [...keys].map((key) => [key, undefined]),
        );
        for (const [key, decided] of rules) changes.set(key, decided);
        keys = new Set(['-', ...rules.keys()]);
        await backend.sync(claims.resolve({ complete: isFirst, changes }));
      };
      const needs = (...abilities: Ability[]): typeof test => {
        const lacking = abilities.find((ability) => cannot[ability] !== undefined);
        return (lacking === undefined ? test : test.skip) as typeof test;
      };
      const serversOf = async (origin: Origin, request: Request, count = 24): Promise<string[]> => {
        const attempts = await Promise.all(
          Array.from({ length: count }, () => target.connect(origin, request)),
        );
        return [
          ...new Set(
            attempts.map((attempt) => (typeof attempt === 'string' ? attempt : attempt.server)),
          ),
        ].sort();
      };
      const one = (origin: Origin, request: Request): Promise<Attempt> =>
        target.connect(origin, request);
      /** Expects that no answer comes. */
      const expectNone = async (origin: Origin, request: Request): Promise<void> => {
        expect(await one(origin, { ...request, timeoutMs: DROPPED_MS })).toBe('timeout');
      };
      /** Expects no answer or a refusal, whichever the back end chooses. */
      const expectUnserved = async (origin: Origin, request: Request): Promise<void> => {
        expect(['timeout', 'refused', 'unreachable']).toContain(
          await one(origin, { ...request, timeoutMs: DROPPED_MS }),
        );
      };

      test('a node port leads to all endpoints, on this node and on others', async () => {
        await apply([everywhere()], [slice([...HERE, ...THERE])]);
        expect(await serversOf('client', NODE_PORT, 60)).toEqual([
          'other1',
          'other2',
          'pod1',
          'pod2',
        ]);
        expect(await serversOf('node', NODE_PORT, 60)).toEqual([
          'other1',
          'other2',
          'pod1',
          'pod2',
        ]);
      });

      test('changes of endpoints, one after the other', async () => {
        const steps = [
          [...HERE, ...THERE],
          ['10.0.0.1 here', '10.0.1.2 there'],
          ['10.0.0.1 here'],
          ['10.0.0.2 here'],
          HERE,
        ];
        for (const step of steps) {
          await apply([everywhere()], [slice(step)]);
          const expected = step.map(
            (text) =>
              ({
                '10.0.0.1': 'pod1',
                '10.0.0.2': 'pod2',
                '10.0.1.1': 'other1',
                '10.0.1.2': 'other2',
              })[text.split(' ')[0] ?? ''],
          );
          expect(await serversOf('client', NODE_PORT, 60)).toEqual(expected.sort());
        }
      });

      test('a service without endpoints refuses connections, and serves once it has some', async () => {
        await apply([everywhere()], []);
        expect(await one('client', NODE_PORT)).toBe('refused');
        await apply([everywhere()], [slice(HERE)]);
        expect(await serversOf('client', NODE_PORT)).toEqual(['pod1', 'pod2']);
        await apply([everywhere()], []);
        expect(await one('client', NODE_PORT)).toBe('refused');
      });

      test('UDP, and clients that send on from the same port when their endpoint is gone', async () => {
        await apply([udp()], [slice(['10.0.0.1 here'], UDP_PORTS)]);
        const request = { ...NODE_PORT, protocol: 'udp', localPort: 40_001 } as const;
        expect(await one('client', request)).toMatchObject({ server: 'pod1' });
        await apply([udp()], [slice(['10.0.1.1 there'], UDP_PORTS)]);
        expect(await one('client', request)).toMatchObject({ server: 'other1' });
      });

      test('a client with session affinity stays with its endpoint while that is there', async () => {
        const sticky = {
          sessionAffinity: 'ClientIP',
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 100 } },
        } as const;
        await apply([everywhere(sticky)], [slice([...HERE, ...THERE])]);
        const [first = '', ...others] = await serversOf('client', NODE_PORT, 1);
        expect([others, await serversOf('client', NODE_PORT, 20)]).toEqual([[], [first]]);
        const left = [...HERE, ...THERE].filter(
          (text) =>
            !first.endsWith(text.startsWith('10.0.0') ? `pod${text[7]}` : `other${text[7]}`),
        );
        await apply([everywhere(sticky)], [slice(left)]);
        const [second = ''] = await serversOf('client', NODE_PORT, 1);
        expect(second).not.toBe(first);
        expect(await serversOf('client', NODE_PORT, 20)).toEqual([second]);
        // A change of other endpoints does not affect the client.
        await apply([everywhere(sticky)], [slice([...HERE, ...THERE])]);
        expect(await serversOf('client', NODE_PORT, 20)).toEqual([second]);
      });

      test('terminating endpoints serve when no others are left', async () => {
        await apply([everywhere()], [slice(['10.0.0.1 here going', '10.0.1.1 there gone'])]);
        expect(await serversOf('client', NODE_PORT)).toEqual(['pod1']);
      });

      test('the external policy Local: only endpoints of this node', async () => {
        await apply(
          [everywhere({ externalTrafficPolicy: 'Local' })],
          [slice(['10.0.0.1 here', ...THERE])],
        );
        expect(await serversOf('client', NODE_PORT)).toEqual(['pod1']);
        // The node itself gets the same endpoints as through a load balancer.
        expect(await serversOf('node', NODE_PORT, 60)).toEqual(['other1', 'other2', 'pod1']);
      });

      needs('source addresses')(
        'the external policy decides whether endpoints see the client',
        async () => {
          await apply([everywhere({ externalTrafficPolicy: 'Local' })], [slice(['10.0.0.1 here'])]);
          expect(await one('client', NODE_PORT)).toEqual({ server: 'pod1', source: '192.168.0.2' });
          await apply([everywhere()], [slice(['10.0.0.1 here'])]);
          expect(await one('client', NODE_PORT)).not.toMatchObject({ source: '192.168.0.2' });
        },
      );

      needs('dropping')(
        'the external policy Local without endpoints here: no answer, so that a load balancer looks elsewhere',
        async () => {
          await apply([everywhere({ externalTrafficPolicy: 'Local' })], [slice(THERE)]);
          await expectNone('client', NODE_PORT);
          expect(await serversOf('node', NODE_PORT)).toEqual(['other1', 'other2']);
        },
      );

      needs('cluster IPs')('a cluster IP', async () => {
        await apply([everywhere()], [slice([...HERE, ...THERE])]);
        expect(await serversOf('node', CLUSTER, 60)).toEqual(['other1', 'other2', 'pod1', 'pod2']);
        await apply([everywhere()], []);
        expect(await one('node', CLUSTER)).toBe('refused');
      });

      needs('cluster IPs', 'pods as clients')(
        'a pod reaches a service, and itself through it',
        async () => {
          await apply([everywhere()], [slice([...HERE, ...THERE])]);
          expect(await serversOf('pod1', CLUSTER, 60)).toEqual([
            'other1',
            'other2',
            'pod1',
            'pod2',
          ]);
          expect(await serversOf('pod1', NODE_PORT, 60)).toEqual([
            'other1',
            'other2',
            'pod1',
            'pod2',
          ]);
          await apply([everywhere()], [slice(['10.0.0.2 here'])]);
          expect(await one('pod1', CLUSTER)).toEqual({ server: 'pod2', source: '10.0.0.1' });
        },
      );

      needs(
        'cluster IPs',
        'pods as clients',
        'dropping',
      )('the internal policy Local', async () => {
        const local = everywhere({ internalTrafficPolicy: 'Local' });
        await apply([local], [slice(['10.0.0.2 here', ...THERE])]);
        expect(await serversOf('pod1', CLUSTER)).toEqual(['pod2']);
        await apply([local], [slice(THERE)]);
        await expectNone('pod1', CLUSTER);
        expect(await serversOf('client', NODE_PORT)).toEqual(['other1', 'other2']);
      });

      needs('cluster IPs', 'pods as clients')(
        'ports of cluster IPs that no service has are refused',
        async () => {
          await apply([everywhere()], [slice(HERE)]);
          expect(await one('pod1', { ...CLUSTER, port: 81 })).toBe('refused');
          expect(await one('node', { ...CLUSTER, port: 81 })).toBe('refused');
        },
      );

      needs('external addresses')('external addresses and those of load balancers', async () => {
        await apply([everywhere()], [slice(['10.0.0.1 here'])]);
        for (const address of [EXTERNAL, BALANCED])
          expect(await serversOf('client', address)).toEqual(['pod1']);
        await Promise.all(
          [EXTERNAL, BALANCED].map((address) => expectUnserved('client', { ...address, port: 81 })),
        );
        await apply([everywhere()], []);
        expect(await one('client', EXTERNAL)).toBe('refused');
      });

      needs('external addresses', 'dropping')('source ranges of a load balancer', async () => {
        const restricted = everywhere({
          loadBalancerSourceRanges: ['198.51.100.0/24', '192.168.0.128/25'],
        });
        await apply([restricted], [slice(HERE)]);
        await expectNone('client', BALANCED);
        // Source ranges apply to load balancer addresses only.
        expect(await serversOf('client', NODE_PORT)).toEqual(['pod1', 'pod2']);
        await apply([everywhere({ loadBalancerSourceRanges: ['192.168.0.0/24'] })], [slice(HERE)]);
        expect(await serversOf('client', BALANCED)).toEqual(['pod1', 'pod2']);
      });

      test('two services; one goes, and the port is free', async () => {
        const second = service(
          {
            clusterIP: '10.96.0.11',
            type: 'NodePort',
            ports: [{ port: 80, targetPort: 8080, nodePort: 30_081 }],
          },
          'second',
        );
        const slices = [slice(['10.0.0.1 here']), slice(['10.0.1.1 there'], { of: 'second' })];
        await apply([everywhere(), second], slices);
        expect(await serversOf('client', NODE_PORT)).toEqual(['pod1']);
        expect(await serversOf('client', { ...NODE_PORT, port: 30_081 })).toEqual(['other1']);
        await apply([second], slices);
        expect(await one('client', NODE_PORT)).toBe('refused');
        expect(await serversOf('client', { ...NODE_PORT, port: 30_081 })).toEqual(['other1']);
      });

      test('a new process takes over', async () => {
        await apply([everywhere()], [slice(['10.0.0.1 here'])]);
        await backend.close();
        backend = target.backend();
        await apply([everywhere()], [slice(['10.0.0.2 here'])], true);
        expect(await serversOf('client', NODE_PORT)).toEqual(['pod2']);
      });

      needs('rules that outlive the process')(
        'rules serve while no process does, and those of services that have gone meanwhile are removed',
        async () => {
          const second = service({ clusterIP: '10.96.0.11' }, 'second');
          await apply(
            [everywhere(), second],
            [slice(['10.0.0.1 here']), slice(['10.0.0.1 here'], { of: 'second' })],
          );
          await backend.close();
          expect(await serversOf('client', NODE_PORT)).toEqual(['pod1']);
          backend = target.backend();
          await apply([everywhere()], [slice(['10.0.0.1 here'])], true);
          expect(await serversOf('node', CLUSTER)).toEqual(['pod1']);
          await expectUnserved('node', { host: '10.96.0.11', port: 80 });
        },
      );

      needs(
        'IPv6',
        'cluster IPs',
        'pods as clients',
      )('IPv6', async () => {
        const six = service({
          type: 'NodePort',
          ports: PORTS,
          clusterIP: 'fd00:10:96::a',
          clusterIPs: ['fd00:10:96::a'],
        });
        await apply([six], [slice(['fd00:0:0:a::1 here', 'fd00:0:0:b::1 there'])]);
        expect(await serversOf('pod1', { host: 'fd00:10:96::a', port: 80 })).toEqual([
          'other1',
          'pod1',
        ]);
        expect(await serversOf('client', { host: 'fd00:0:0:1::1', port: 30_080 })).toEqual([
          'other1',
          'pod1',
        ]);
        await apply([six], []);
        expect(await one('client', { host: 'fd00:0:0:1::1', port: 30_080 })).toBe('refused');
      });
    },
  );
}
