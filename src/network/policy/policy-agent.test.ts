// The agent with an API server: which rules are programmed, when, and when pods may start.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { namespaces, pods } from '#api/groups/core/v1/index.ts';
import { networkPolicies } from '#api/groups/networking/v1/index.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { type RecordingLogger, recordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { Announcements } from './announcements.ts';
import type { NodeRules, PolicyBackend, RulesChange } from './model.ts';
import { PolicyAgent } from './policy-agent.ts';
import { apiPod, select } from './testing/objects.ts';

class FakeBackend implements PolicyBackend {
  /** The programmed state; undefined: none. */
  programmed: { readonly pods: NodeRules['pods']; readonly members: readonly string[] } | undefined;
  readonly syncs: ('complete' | RulesChange)[] = [];
  cleared = 0;
  fail: Error | undefined;
  present = true;

  sync(rules: NodeRules, change?: RulesChange): Promise<void> {
    if (this.fail !== undefined) return Promise.reject(this.fail);
    this.syncs.push(change ?? 'complete');
    const members = [...rules.groups.values()].flatMap(({ elements }) => [...elements]).sort();
    this.programmed = rules.guarded ? { pods: new Map(rules.pods), members } : undefined;
    return Promise.resolve();
  }

  clear(): Promise<void> {
    this.cleared++;
    this.programmed = undefined;
    return Promise.resolve();
  }

  isPresent(): Promise<boolean> {
    return Promise.resolve(this.present);
  }
}

const server = serverPerTest({ disableAdmissionPlugins: ['ServiceAccount'] });
let backend: FakeBackend;
let announcements: Announcements;
let logger: RecordingLogger;
let agent: PolicyAgent;
let programmed: Set<string>;
let abort: AbortController;
let running: Promise<void>;

beforeEach(async () => {
  for (const name of ['x', 'y'])
    await server.client.resource(namespaces).create({ metadata: { name, labels: { team: name } } });
  backend = new FakeBackend();
  announcements = new Announcements();
  logger = recordingLogger();
  programmed = new Set();
  abort = new AbortController();
  agent = new PolicyAgent({
    // Uses the agent's account: its role must allow every request.
    client: server.clientOf({
      name: 'system:coxswain:network-policy',
      groups: ['system:authenticated'],
    }),
    nodeName: 'here',
    backend,
    announcements,
    clock: server.clock,
    random: new SeededRandom('agent'),
    logger,
    onProgrammed: (keys) => {
      for (const key of keys) programmed.add(key);
    },
  });
  running = agent.run(abort.signal);
});
afterEach(async () => {
  abort.abort(new Error('over'));
  await running;
});

const until = (condition: () => boolean): Promise<void> => server.clock.runUntil(condition, '1m');

async function createPod(name: string, ip: string, node = 'here', labels = {}): Promise<void> {
  const inX = server.client.resource(pods).namespace('x');
  const pod = await inX.create({
    metadata: { name, labels },
    spec: { nodeName: node, containers: [{ name: 'c', image: 'i' }] },
  });
  await inX.updateStatus({
    ...pod,
    status: { ...pod.status, phase: 'Running', podIPs: [{ ip }], podIP: ip },
  });
}

const createPolicy = (name: string, from?: object): Promise<unknown> =>
  server.client
    .resource(networkPolicies)
    .namespace('x')
    .create({
      metadata: { name },
      spec: { podSelector: {}, ingress: from === undefined ? [] : [{ from: [from] }] },
    });

test('without policies nothing is programmed, and pods are not watched', async () => {
  await createPod('a', '10.0.0.1');
  agent.announced('x/a');
  await until(() => programmed.has('x/a'));
  expect([backend.syncs, backend.programmed]).toEqual([[], undefined]);
  expect(backend.cleared).toBeGreaterThan(0);
});

test('policies, pods, labels of namespaces: each change is one transaction', async () => {
  await createPod('a', '10.0.0.1');
  await createPolicy('p', { namespaceSelector: select('team=x') });
  await until(() => backend.programmed !== undefined);
  expect(backend.syncs).toHaveLength(1);
  expect(backend.programmed?.pods).toEqual(
    new Map([['10.0.0.1', { ingress: ['x/p'], egress: undefined }]]),
  );
  await createPod('b', '10.0.1.1', 'there');
  await until(() => backend.programmed?.members.length === 2);
  await server.client
    .resource(namespaces)
    .patch('x', 'application/merge-patch+json', { metadata: { labels: { team: 'z' } } });
  await until(() => backend.programmed?.members.length === 0);
  const nodes = [...(backend.syncs.at(-1) as RulesChange).groups.values()].map((changes) => [
    ...changes,
  ]);
  expect(nodes).toEqual([
    [
      ['10.0.0.1', false],
      ['10.0.1.1', false],
    ],
  ]);
  await server.client.resource(networkPolicies).namespace('x').delete('p');
  await until(() => backend.programmed === undefined);
});

test('an announced pod has rules before its address is in the API, until the kubelet drops it', async () => {
  await createPolicy('p');
  await until(() => backend.syncs.length > 0);
  const pod = apiPod('x/new', { labels: { a: 'b' }, uid: 'uid-new' });
  agent.announced(announcements.add(pod, ['10.0.0.7']).key);
  await until(() => programmed.has('x/new'));
  expect(backend.programmed?.pods.get('10.0.0.7')).toEqual({ ingress: ['x/p'], egress: undefined });
  // Another sandbox with another address.
  agent.announced(announcements.add(pod, ['10.0.0.8']).key);
  await until(() => backend.programmed?.pods.has('10.0.0.8') === true);
  expect(backend.programmed?.pods.has('10.0.0.7')).toBe(false);
  expect(announcements.forget('uid-old')).toBeUndefined();
  agent.announced(announcements.forget('uid-new') ?? '');
  await until(() => backend.programmed?.pods.size === 0);
});

test('a lagging agent catches up with the policies of a namespace', async () => {
  await agent.catchUp('x', abort.signal);
  await createPolicy('p');
  await createPolicy('q');
  await agent.catchUp('x', abort.signal);
  agent.announced(announcements.add(apiPod('x/new'), ['10.0.0.7']).key);
  await until(() => programmed.has('x/new'));
  expect(backend.programmed?.pods.get('10.0.0.7')).toEqual({
    ingress: ['x/p', 'x/q'],
    egress: undefined,
  });
});

test('after an error pods wait, and everything is programmed again', async () => {
  await createPolicy('p');
  await until(() => backend.syncs.length > 0);
  backend.fail = new Error('no such table');
  agent.announced(announcements.add(apiPod('x/new'), ['10.0.0.7']).key);
  await until(() =>
    logger.records.some(({ message }) => message === 'network policies: sync failed, retrying'),
  );
  expect(programmed.has('x/new')).toBe(false);
  backend.fail = undefined;
  await until(() => programmed.has('x/new'));
  expect(backend.syncs.at(-1)).toBe('complete');
  expect(backend.programmed?.pods.has('10.0.0.7')).toBe(true);
});

test('rules that another program has removed are restored; once an hour all are programmed again', async () => {
  await createPolicy('p');
  await until(() => backend.syncs.length > 0);
  backend.present = false;
  await server.clock.advance(60_000);
  backend.present = true;
  await until(() => backend.syncs.length === 2);
  await server.clock.advance(3_600_000);
  await until(() => backend.syncs.length === 3);
  expect(backend.syncs.slice(1)).toEqual(['complete', 'complete']);
});
