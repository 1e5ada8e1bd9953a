// The plain request is the oracle: two servers get the same renewals, one as requests and one as
// batches, and no client can tell which is which.

import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { formatMicroTime } from '#machinery/text/time.ts';
import type { StorageEvent } from '#storage/interface.ts';
import { readAuditPolicy } from '../audit/read-policy.ts';
import type { ApiServerConfig } from '../config.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';
import { kubeletClient, tracesOf } from './testing/traces.ts';

const NODES = ['a', 'b-1', 'c.example', 'd'];
const PREFIX = '/registry/leases/kube-node-lease/';
const UID = '6f2ab0b6-0000-4000-8000-000000000001';
const SPEC = { leaseDurationSeconds: 40 };

interface Cluster extends TestServer {
  readonly clock: VirtualClock;
  readonly events: StorageEvent[];
  /** Renews by requests, each by its node. */
  renewOne(node: string): Promise<void>;
  /** Renews by one batch, and what it refuses by requests. Resolves with those. */
  renewAll(nodes: readonly string[], isKnown?: boolean): Promise<readonly string[]>;
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(config: Partial<ApiServerConfig> = {}): Promise<Cluster> {
  const clock = new VirtualClock();
  const test = await startTestServer({ clock, ...config });
  const { server, storage } = test;
  const users = new Map(
    NODES.map((node) => [
      node,
      kubeletClient(test, node).resource(leases).namespace('kube-node-lease'),
    ]),
  );
  const spec = (node: string): object => ({
    ...SPEC,
    holderIdentity: node,
    renewTime: formatMicroTime(clock.now()),
  });
  const renewOne = async (node: string): Promise<void> => {
    await users.get(node)!.patch(node, 'application/merge-patch+json', { spec: spec(node) });
  };
  for (const node of NODES) {
    await users.get(node)!.create({
      metadata: {
        name: node,
        namespace: 'kube-node-lease',
        ...(node !== 'd' && {
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node, uid: UID }],
        }),
      },
      spec: spec(node),
    });
  }
  // The first request after the creation changes the order of fields.
  await clock.advance(1000);
  for (const node of NODES) await renewOne(node);
  const events: StorageEvent[] = [];
  const watch = storage.watch(PREFIX);
  void (async () => {
    for await (const event of watch) events.push(event);
  })();
  stops.push(async () => {
    watch.stop();
    await test.stop();
    expect(test.logger.errors).toEqual([]);
  });
  const renewAll = async (
    nodes: readonly string[],
    isKnown = false,
  ): Promise<readonly string[]> => {
    const refused = await server.makeHeartbeats({
      kind: 'lease',
      nodes,
      atMs: clock.now(),
      leaseDurationSeconds: 40,
      userAgent: 'kubelet',
      isKnown,
    });
    for (const node of refused) await renewOne(node).catch(() => undefined);
    return refused;
  };
  return { ...test, clock, events, renewOne, renewAll };
}

/** Renews by requests that are in flight together. */
async function together(cluster: Cluster, nodes: readonly string[]): Promise<void> {
  await Promise.all(nodes.map((node) => cluster.renewOne(node)));
}

function without(nodes: readonly string[], others: readonly string[]): readonly string[] {
  return nodes.filter((node) => !others.includes(node));
}

/** Returns everything that clients and operators can see of a server. */
async function seen(cluster: Cluster): Promise<object> {
  return {
    ...(await tracesOf(cluster, PREFIX)),
    listed: await cluster.client.resource(leases).namespace('kube-node-lease').list(),
  };
}

test('a batch leaves what single requests leave, and is not refused', async () => {
  const plain = await start();
  const batch = await start();
  for (const seconds of [10, 0.25, 9.75, 3600]) {
    for (const { clock } of [plain, batch]) await clock.advance(seconds * 1000);
    await together(plain, NODES);
    expect(await batch.renewAll(NODES)).toEqual([]);
    expect(await seen(batch)).toEqual(await seen(plain));
  }
});

test('history is what single requests leave', async () => {
  const plain = await start();
  const batch = await start();
  const revisions: number[] = [];
  for (let round = 0; round < 3; round++) {
    for (const { clock } of [plain, batch]) await clock.advance(10_000);
    await together(plain, NODES);
    await batch.renewAll(NODES);
    revisions.push(await batch.storage.currentRevision());
  }
  for (const revision of revisions) {
    const [one, other] = await Promise.all(
      [plain, batch].map(({ storage }) => storage.list(PREFIX, { revision })),
    );
    expect(one).toEqual(other);
  }
});

const lease = (node: string) => (cluster: Cluster) =>
  cluster.client.resource(leases).namespace('kube-node-lease').get(node);

type Change = readonly [name: string, change: (cluster: Cluster) => Promise<unknown>];
const MERGE = 'application/merge-patch+json';
const patched =
  (patch: object) =>
  ({ client }: Cluster): Promise<unknown> =>
    client.resource(leases).namespace('kube-node-lease').patch('a', MERGE, patch);
const byKubelet =
  (patch: object) =>
  ({ server }: Cluster): Promise<unknown> =>
    createClient(
      createInProcessTransport({
        handler: server.inProcess({ name: 'x', groups: ['system:masters'] }),
        userAgent: 'kubelet',
      }),
    )
      .resource(leases)
      .namespace('kube-node-lease')
      .patch('a', MERGE, patch);

const changes: readonly Change[] = [
  ['another holder', patched({ spec: { holderIdentity: 'x' } })],
  ['another duration', patched({ spec: { leaseDurationSeconds: 60 } })],
  ['another duration, by the same manager', byKubelet({ spec: { leaseDurationSeconds: 60 } })],
  ['a label', patched({ metadata: { labels: { renewTime: 'x', time: 'y' } } })],
  ['an annotation, by the same manager', byKubelet({ metadata: { annotations: { time: 'x' } } })],
  ['a finalizer', patched({ metadata: { finalizers: ['example.com/x'] } })],
  [
    'another owner',
    patched({
      metadata: {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Node', name: 'x', uid: UID.replace(/1$/, '2') },
        ],
      },
    }),
  ],
  ['transitions', patched({ spec: { leaseTransitions: 3 } })],
  ['an acquisition', patched({ spec: { acquireTime: '2026-01-01T00:00:00.000000Z' } })],
  ['a renewal by another client', patched({ spec: { renewTime: '2026-01-01T00:00:00.000001Z' } })],
  ['no owners of fields', patched({ metadata: { managedFields: [{}] } })],
  ['a deletion', ({ client }) => client.resource(leases).namespace('kube-node-lease').delete('a')],
  [
    'a deletion that waits',
    async (cluster) => {
      await patched({ metadata: { finalizers: ['example.com/x'] } })(cluster);
      await cluster.client.resource(leases).namespace('kube-node-lease').delete('a');
    },
  ],
];

test.each(changes)('after %s the kubelet makes the request', async (_name, change) => {
  const plain = await start();
  const batch = await start();
  for (let round = 0; round < 3; round++) {
    for (const cluster of [plain, batch]) {
      await cluster.clock.advance(10_000);
      if (round === 1) await change(cluster);
    }
    // A refused renewal is made after those of the batch.
    const refused = await batch.renewAll(NODES);
    if (round === 1) expect(refused).toEqual(['a']);
    await together(plain, without(NODES, refused));
    for (const node of refused) await plain.renewOne(node).catch(() => undefined);
    expect(await seen(batch)).toEqual(await seen(plain));
  }
});

test('any sequence of renewals and changes leaves what single requests leave', async () => {
  const step = fc.record({
    ms: fc.integer({ min: 0, max: 20_000 }),
    nodes: fc.shuffledSubarray(NODES, { minLength: 1 }),
    change: fc.option(fc.constantFrom(...changes.map(([, change]) => change)), { freq: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      const plain = await start();
      const batch = await start();
      for (const { ms, nodes, change } of steps) {
        for (const cluster of [plain, batch]) {
          await cluster.clock.advance(ms);
          await change?.(cluster).catch(() => undefined);
        }
        const refused = await batch.renewAll(nodes);
        await together(plain, without(nodes, refused));
        for (const node of refused) await plain.renewOne(node).catch(() => undefined);
      }
      expect(await seen(batch)).toEqual(await seen(plain));
    }),
    { numRuns: 10 },
  );
});

const ADMISSION = '/apis/admissionregistration.k8s.io/v1/';
const ALL = { apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*'] };
const LEASES = {
  ...ALL,
  apiGroups: [leases.group],
  apiVersions: [leases.version],
  resources: ['leases'],
};

interface Configured {
  readonly path: string;
  readonly body: object;
}
type Hooked = readonly [name: string, objects: () => readonly Configured[]];

function webhook(
  rules: readonly object[],
  type: 'validating' | 'mutating' = 'validating',
): readonly Configured[] {
  const hook = {
    name: 'test.example.com',
    clientConfig: { url: 'https://127.0.0.1:1/' },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    failurePolicy: 'Ignore',
    rules,
  };
  const body = { metadata: { name: 'test' }, webhooks: [hook] };
  return [{ path: `${ADMISSION}${type}webhookconfigurations`, body }];
}

function policy(matchConstraints: object, matchResources?: object): readonly Configured[] {
  const metadata = { name: 'test' };
  const validations = [{ expression: 'false' }];
  const binding = { policyName: 'test', validationActions: ['Deny'], matchResources };
  return [
    {
      path: `${ADMISSION}validatingadmissionpolicies`,
      body: { metadata, spec: { matchConstraints, validations } },
    },
    { path: `${ADMISSION}validatingadmissionpolicybindings`, body: { metadata, spec: binding } },
  ];
}

async function create({ client }: Cluster, objects: readonly Configured[]): Promise<void> {
  for (const object of objects) await client.transport.request({ method: 'POST', ...object });
}

describe('every renewal is refused', () => {
  const refusedBy = async (cluster: Cluster): Promise<readonly string[]> => {
    await cluster.clock.advance(10_000);
    return cluster.renewAll(NODES);
  };

  test('if the time is the same', async () => {
    const cluster = await start();
    await cluster.clock.advance(10_000);
    expect(await cluster.renewAll(NODES)).toEqual([]);
    expect(await cluster.renewAll(NODES)).toEqual(NODES);
  });

  test('if nodes may not write their Leases', async () => {
    const forbidden = { decision: 'noOpinion', reason: '' } as const;
    let allows = true;
    const cluster = await start({
      authorizer: {
        authorize: () => (allows ? { decision: 'allow', reason: '' } : forbidden),
        rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }),
      },
    });
    expect(await refusedBy(cluster)).toEqual([]);
    allows = false;
    expect(await refusedBy(cluster)).toEqual(NODES);
  });

  test('if a plugin of admission may look at the content', async () => {
    const cluster = await start({
      admissionPlugins: [{ name: 'Test', validate: () => undefined }],
    });
    expect(await refusedBy(cluster)).toEqual(NODES);
  });

  test('if the audit log records the requests', async () => {
    const rules = "[{level: None, users: ['system:node:d']}, {level: Metadata}]";
    const { policy } = readAuditPolicy(
      `apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: ${rules}`,
    );
    const sink = { process: () => Promise.resolve(true), stop: () => Promise.resolve() };
    const cluster = await start({ audit: { policy, sink: () => sink } });
    expect(await refusedBy(cluster)).toEqual(['a', 'b-1', 'c.example']);
  });

  test('if each request is watched in the process', async () => {
    const cluster = await start({ wrapHandler: (handler) => handler });
    expect(await refusedBy(cluster)).toEqual(NODES);
  });

  test('without priority and fairness', async () => {
    expect(await refusedBy(await start({ priorityAndFairness: false }))).toEqual(NODES);
  });

  test('after the server has stopped', async () => {
    const cluster = await start();
    await cluster.server.stop();
    const batch = { kind: 'lease', nodes: NODES, atMs: 1, userAgent: 'kubelet' } as const;
    expect(await cluster.server.makeHeartbeats(batch)).toEqual(NODES);
  });

  test.each<Hooked>([
    ['a webhook', () => webhook([{ ...ALL, operations: ['UPDATE'] }])],
    ['a webhook for the Lease of a node', () => webhook([{ ...LEASES, resourceNames: ['b-1'] }])],
    ['a mutating webhook', () => webhook([LEASES], 'mutating')],
    ['a policy', () => policy({ resourceRules: [LEASES] })],
    [
      'a policy that leaves out the Lease of a node',
      () =>
        policy({
          resourceRules: [ALL],
          excludeResourceRules: [{ ...LEASES, resourceNames: ['a'] }],
        }),
    ],
  ])('by %s that may see it', async (_name, objects) => {
    const cluster = await start();
    await refusedBy(cluster);
    await create(cluster, objects());
    await cluster.clock.advance(10_000);
    const batch = {
      kind: 'lease',
      atMs: cluster.clock.now(),
      leaseDurationSeconds: 40,
      userAgent: 'kubelet',
    } as const;
    expect(await cluster.server.makeHeartbeats({ ...batch, nodes: NODES })).toEqual(NODES);
  });
});

describe('no renewal is refused, and a batch leaves what single requests leave,', () => {
  test.each<Hooked>([
    ['a webhook', () => webhook([{ ...ALL, resources: ['pods'] }])],
    ['a webhook for deletions', () => webhook([{ ...ALL, operations: ['DELETE'] }])],
    ['a webhook for objects without a namespace', () => webhook([{ ...ALL, scope: 'Cluster' }])],
    ['a webhook without rules', () => webhook([])],
    ['a mutating webhook', () => webhook([{ ...ALL, resources: ['*/status'] }], 'mutating')],
    ['a policy', () => policy({ resourceRules: [{ ...ALL, apiGroups: ['apps'] }] })],
    [
      'a policy that leaves out Leases',
      () => policy({ resourceRules: [ALL], excludeResourceRules: [LEASES] }),
    ],
    [
      'a policy that is bound to other resources',
      () => policy({ resourceRules: [ALL] }, { resourceRules: [{ ...ALL, resources: ['pods'] }] }),
    ],
  ])('with %s that does not see it', async (_name, objects) => {
    const plain = await start();
    const batch = await start();
    for (const cluster of [plain, batch]) await create(cluster, objects());
    for (let round = 0; round < 2; round++) {
      for (const { clock } of [plain, batch]) await clock.advance(10_000);
      await together(plain, NODES);
      expect(await batch.renewAll(NODES)).toEqual([]);
      expect(await seen(batch)).toEqual(await seen(plain));
    }
  });
});

test('a pending write of another client wins', async () => {
  const cluster = await start();
  await cluster.clock.advance(10_000);
  const written = patched({ metadata: { labels: { a: 'b' } } })(cluster);
  const refused = await cluster.renewAll(NODES);
  await written;
  expect((await lease('a')(cluster)).metadata.labels).toEqual({ a: 'b' });
  expect(refused.every((node) => node === 'a')).toBe(true);
});

test('a client in the process may leave out the events of renewals that it has made', async () => {
  const { server, clock, renewAll, renewOne } = await start();
  const namesIn = async (withoutRenewals: boolean, count: number): Promise<readonly string[]> => {
    const handler = server.inProcess({ name: 'admin', groups: ['system:masters'] });
    const client = createClient(createInProcessTransport({ handler, withoutRenewals }));
    const namespace = client.resource(leases).namespace('kube-node-lease');
    const { resourceVersion } = (await namespace.list()).metadata;
    const names: string[] = [];
    for await (const { object } of await namespace.watch({ resourceVersion }))
      if (names.push(object.metadata.name) === count) break;
    return names;
  };
  const watched = Promise.all([namesIn(true, 3), namesIn(false, NODES.length + 3)]);
  await clock.advance(10_000);
  expect(await renewAll(NODES, true)).toEqual([]);
  await clock.advance(10_000);
  expect(await renewAll(['d'])).toEqual([]);
  await clock.advance(10_000);
  await renewOne('b-1');
  await renewOne('a');
  expect(await watched).toEqual([
    ['d', 'b-1', 'a'],
    [...NODES, 'd', 'b-1', 'a'],
  ]);
});

test('other writes never wait for the renewals of all nodes', async () => {
  const { storage, renewAll, clock } = await start();
  await clock.advance(1000);
  const patch = storage.patchTogether!.bind(storage);
  let isHeld = true;
  let writes = 0;
  const held: (() => void)[] = [];
  vi.spyOn(storage, 'patchTogether').mockImplementation((keys, patchOf) => {
    if (!isHeld) return patch(keys, patchOf);
    writes += keys.length;
    const states = keys.map((key) => ({
      key,
      value: new Uint8Array(),
      createRevision: 1,
      modRevision: 1,
    }));
    return { states, done: new Promise((resolve) => held.push(resolve)) };
  });
  const slices = Array.from({ length: 3000 }, (_, i) => NODES[i % 3]!);
  const renewed = [renewAll(slices), renewAll(slices)];
  await vi.waitFor(() => expect(writes).toBe(1000));
  await clock.settle();
  expect(writes).toBe(1000);
  isHeld = false;
  for (const release of held) release();
  await Promise.all(renewed);
});
