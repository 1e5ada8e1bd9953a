// The plain request is the oracle: two servers get the same bindings, one as requests and one as
// batches, and no client can tell which is which.

import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { nodes, pods } from '#api/groups/core/v1/index.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import type { KeyValue, StorageEvent } from '#storage/interface.ts';
import type { AdmissionPlugin } from '../admission/plugin.ts';
import { readAuditPolicy } from '../audit/read-policy.ts';
import type { ApiServerConfig } from '../config.ts';
import { ADMIN, startTestServer, type TestServer } from '../testing/server.ts';
import type { BindingResult, PodBinding } from './pod-bindings.ts';

const SCHEDULER = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };
const AGENT = 'kube-scheduler';
const PREFIX = '/registry/pods/';
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const ZONED = { 'topology.kubernetes.io/zone': 'z1', other: 'x' };

interface Cluster extends TestServer {
  readonly clock: VirtualClock;
  readonly events: StorageEvent[];
  /** Binds by requests that are in flight together. */
  bindEach(bindings: readonly PodBinding[]): Promise<readonly BindingResult[]>;
  /** Binds by one batch. */
  bindAll(bindings: readonly PodBinding[]): Promise<readonly BindingResult[]>;
  /** Returns the binding of a pod as it is, by its name. */
  bindingOf(name: string, node?: string): Promise<PodBinding>;
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(config: Partial<ApiServerConfig> = {}): Promise<Cluster> {
  const clock = new VirtualClock();
  const test = await startTestServer({ clock, ...config });
  const { server, storage, client } = test;
  const handler = server.inProcess(SCHEDULER);
  const scheduler = createClient(createInProcessTransport({ handler, userAgent: AGENT }));
  await client.resource(nodes).create({ metadata: { name: 'plain' } });
  await client.resource(nodes).create({ metadata: { name: 'zoned', labels: ZONED } });
  const inNamespace = client.resource(pods).namespace('default');
  for (const name of NAMES)
    await inNamespace.create({
      metadata: { name, labels: { app: name } },
      spec: { containers: [{ name: 'c', image: 'c' }] },
    });
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
  const bindOne = async ({ namespace, name, uid, node }: PodBinding): Promise<BindingResult> => {
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace, uid },
      target: { kind: 'Node', name: node },
    };
    try {
      await scheduler.resource(pods).namespace(namespace).subresource(name, 'binding', binding);
      return 'bound';
    } catch (error) {
      if (!(error instanceof apierrors.StatusError)) throw error;
      return error.status;
    }
  };
  return {
    ...test,
    clock,
    events,
    bindEach: (bindings) => Promise.all(bindings.map(bindOne)),
    bindAll: (bindings) => server.bindPods({ bindings, user: SCHEDULER, userAgent: AGENT }),
    bindingOf: async (name, node = 'plain') => {
      const { uid } = (await inNamespace.get(name)).metadata;
      return { namespace: 'default', name, uid, node };
    },
  };
}

function textOf({ key, value, createRevision, modRevision }: KeyValue): string {
  return `${key} ${createRevision} ${modRevision} ${Buffer.from(value).toString('latin1')}`;
}

/** Returns everything that clients and operators can see of a server. */
async function seen({ storage, client, events }: Cluster): Promise<object> {
  const metrics = await client.transport.text({ method: 'GET', path: '/metrics' });
  const { items, revision } = await storage.list(PREFIX);
  return {
    items: items.map(textOf),
    revision,
    events: events.map((event) => {
      if (event.type === 'progress') return event;
      const current = event.type === 'put' ? textOf(event.kv) : event.key;
      return `${event.type} ${event.revision} ${current}`;
    }),
    // The order of the samples of a metric has no meaning.
    metrics: metrics
      .split('\n')
      .filter((line) => !/^(process_|nodejs_)/.test(line))
      .sort(),
  };
}

async function bindingsOf(cluster: Cluster, names: readonly string[], node?: string) {
  return Promise.all(names.map((name) => cluster.bindingOf(name, node)));
}

test('a batch leaves what single requests leave, and is not refused', async () => {
  const [plain, batch] = [await start(), await start()];
  for (const [names, node] of [
    [['a', 'b'], 'plain'],
    [['c'], 'zoned'],
    [['d', 'e'], 'zoned'],
  ] as const) {
    for (const { clock } of [plain, batch]) await clock.advance(1500);
    await plain.bindEach(await bindingsOf(plain, names, node));
    const results = await batch.bindAll(await bindingsOf(batch, names, node));
    expect(results).toEqual(names.map(() => 'bound'));
    expect(await seen(batch)).toEqual(await seen(plain));
  }
  const { metadata, spec } = await batch.client.resource(pods).namespace('default').get('c');
  expect(spec.nodeName).toBe('zoned');
  expect(metadata.labels).toEqual({ app: 'c', 'topology.kubernetes.io/zone': 'z1' });
});

type Change = readonly [name: string, change: (binding: PodBinding) => PodBinding];
const changes: readonly Change[] = [
  ['of another pod with the name', (binding) => ({ ...binding, uid: 'x' })],
  ['of a pod that does not exist', (binding) => ({ ...binding, name: 'x' })],
  ['in a namespace that does not exist', (binding) => ({ ...binding, namespace: 'x' })],
  ['to no node', (binding) => ({ ...binding, node: '' })],
];

test.each(changes)('a binding %s fails as its request does, others do not', async (_, change) => {
  const [plain, batch] = [await start(), await start()];
  const changed = async (cluster: Cluster): Promise<readonly PodBinding[]> => {
    const [first, second, third] = await bindingsOf(cluster, ['a', 'b', 'c']);
    return [first!, change(second!), third!];
  };
  const expected = await plain.bindEach(await changed(plain));
  expect(expected).toEqual(['bound', expect.objectContaining({ kind: 'Status' }), 'bound']);
  expect(await batch.bindAll(await changed(batch))).toEqual(expected);
  expect(await seen(batch)).toEqual(await seen(plain));
});

test('any sequence of bindings and other writes leaves what single requests leave', async () => {
  const step = fc.record({
    ms: fc.integer({ min: 0, max: 5000 }),
    names: fc.shuffledSubarray(NAMES, { minLength: 1 }),
    node: fc.constantFrom('plain', 'zoned', 'absent'),
    deleted: fc.option(fc.constantFrom(...NAMES), { freq: 3 }),
    labelled: fc.option(fc.constantFrom(...NAMES), { freq: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
      const [plain, batch] = [await start(), await start()];
      const bindings = await bindingsOf(plain, NAMES);
      expect(await bindingsOf(batch, NAMES)).toEqual(bindings);
      for (const { ms, names, node, deleted, labelled } of steps) {
        for (const { clock, client } of [plain, batch]) {
          await clock.advance(ms);
          const inNamespace = client.resource(pods).namespace('default');
          if (deleted !== null) await inNamespace.delete(deleted).catch(() => undefined);
          const patch = { metadata: { labels: { at: String(ms) } } };
          if (labelled !== null)
            await inNamespace
              .patch(labelled, 'application/merge-patch+json', patch)
              .catch(() => undefined);
        }
        const made = bindings
          .filter(({ name }) => names.includes(name))
          .map((binding) => ({ ...binding, node }));
        expect(await batch.bindAll(made)).toEqual(await plain.bindEach(made));
      }
      expect(await seen(batch)).toEqual(await seen(plain));
    }),
    { numRuns: 10 },
  );
});

describe('every binding is refused', () => {
  const refusedBy = async (cluster: Cluster): Promise<void> => {
    const before = await seen(cluster);
    const bindings = await bindingsOf(cluster, ['a', 'b']);
    expect(await cluster.bindAll(bindings)).toEqual(['refused', 'refused']);
    expect(await seen(cluster)).toMatchObject({ ...before, metrics: expect.anything() });
  };

  test('if the user may not bind pods', async () => {
    const cluster = await start();
    const bindings = await bindingsOf(cluster, ['a']);
    const user = { name: 'x', groups: ['system:authenticated'] };
    expect(await cluster.server.bindPods({ bindings, user, userAgent: AGENT })).toEqual([
      'refused',
    ]);
    expect(await cluster.server.bindPods({ bindings, user: ADMIN, userAgent: AGENT })).toEqual([
      'bound',
    ]);
  });

  test('if a plugin of admission may call something else', async () => {
    const plugin: AdmissionPlugin = { name: 'Test', validate: () => undefined };
    await refusedBy(await start({ admissionPlugins: [plugin] }));
  });

  test('if the audit log records the requests', async () => {
    const { policy } = readAuditPolicy(
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]',
    );
    const sink = { process: () => Promise.resolve(true), stop: () => Promise.resolve() };
    await refusedBy(await start({ audit: { policy, sink: () => sink } }));
  });

  test('if each request is watched in the process', async () => {
    await refusedBy(await start({ wrapHandler: (handler) => handler }));
  });

  test('without priority and fairness', async () => {
    await refusedBy(await start({ priorityAndFairness: false }));
  });

  test.each(['validating', 'mutating'])('if a %s webhook sees them', async (type) => {
    const cluster = await start();
    const hook = {
      name: 'test.example.com',
      clientConfig: { url: 'https://127.0.0.1:1/' },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      failurePolicy: 'Ignore',
      rules: [
        { apiGroups: [''], apiVersions: ['v1'], resources: ['pods/*'], operations: ['CREATE'] },
      ],
    };
    await cluster.client.transport.request({
      method: 'POST',
      path: `/apis/admissionregistration.k8s.io/v1/${type}webhookconfigurations`,
      body: { metadata: { name: 'test' }, webhooks: [hook] },
    });
    await refusedBy(cluster);
  });
});
