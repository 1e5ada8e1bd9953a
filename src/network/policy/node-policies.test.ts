// The policies of a node: the kubelet's wait, and nodes without nftables.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { networkPolicies, type NetworkPolicy } from '#api/groups/networking/v1/index.ts';
import { namespaces } from '#api/groups/core/v1/index.ts';
import type { Client, ResourceClient } from '#client/client.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { type RecordingLogger, recordingLogger } from '#machinery/log.ts';
import { FakeNft } from '#machinery/net/nft/fake-nft.ts';
import { NftError } from '#machinery/net/nft/index.ts';
import { SeededRandom } from '#machinery/random.ts';
import { NodePolicies } from './node-policies.ts';
import { apiPod } from './testing/objects.ts';

type PolicyCalls = Pick<ResourceClient<NetworkPolicy>, 'list' | 'watch' | 'namespace'>;

let server: TestServer;
let clock: VirtualClock;
let nft: FakeNft;
let logger: RecordingLogger;
let policies: NodePolicies;
let abort: AbortController;
let running: Promise<void> | undefined;

beforeEach(async () => {
  // The fake back end needs neither root nor Linux.
  vi.spyOn(process, 'platform', 'get').mockReturnValue('linux');
  if (process.getuid !== undefined) vi.spyOn(process, 'getuid').mockReturnValue(0);
  clock = new VirtualClock();
  server = await startTestServer({ clock });
  await server.client.resource(namespaces).create({ metadata: { name: 'x' } });
  nft = new FakeNft();
  logger = recordingLogger();
  abort = new AbortController();
  running = undefined;
  policies = makePolicies();
});

const agentClient = (): Client =>
  server.clientOf({ name: 'system:coxswain:network-policy', groups: ['system:authenticated'] });

function makePolicies(client = agentClient()): NodePolicies {
  return new NodePolicies({
    client,
    nodeName: 'here',
    settings: { table: 't', podCidrs: ['10.0.0.0/24'] },
    clock,
    random: new SeededRandom('policies'),
    logger,
    nft,
  });
}

/** Returns a client with replaced calls for policies. */
function withPolicyCalls(change: (calls: PolicyCalls) => Partial<PolicyCalls>): Client {
  const client = agentClient();
  const real = client.resource(networkPolicies);
  const calls: PolicyCalls = {
    list: (options) => real.list(options),
    watch: (options) => real.watch(options),
    namespace: (name) => real.namespace(name),
  };
  const changed = { ...calls, ...change(calls) };
  const resource = (type: unknown): unknown =>
    type === networkPolicies ? changed : client.resource(type as typeof networkPolicies);
  return { transport: client.transport, resource } as Client;
}
afterEach(async () => {
  vi.restoreAllMocks();
  abort.abort(new Error('over'));
  await running;
  await server.stop();
});

const start = (): void => void (running = policies.run(abort.signal));
const createPolicy = (): Promise<unknown> =>
  server.client
    .resource(networkPolicies)
    .namespace('x')
    .create({ metadata: { name: 'p' }, spec: { podSelector: {} } });

/** Announces the pod; the result reports whether it is ready. */
function announce(
  key: string,
  address: string,
  signal = abort.signal,
): { ready: boolean; error?: unknown } {
  const result: { ready: boolean; error?: unknown } = { ready: false };
  void policies.podAddressesReady(apiPod(key), [address], signal).then(
    () => (result.ready = true),
    (error: unknown) => (result.error = error),
  );
  return result;
}

test('a pod is ready once its rules are programmed', async () => {
  await createPolicy();
  const early = announce('x/early', '10.0.0.1');
  start();
  await clock.runUntil(() => early.ready, '1m');
  expect(nft.runs.at(-1)).toMatch(/^add table inet t$.*10\.0\.0\.1 : goto pods-ingress-/ms);
  nft.failures.push(new NftError('Other', 'full'), new NftError('Other', 'full'));
  const late = announce('x/late', '10.0.0.2');
  await clock.runUntil(() => nft.failures.length === 0, '1m');
  expect(late.ready).toBe(false);
  await clock.runUntil(() => late.ready, '1m');
  expect(nft.runs.at(-1)).toContain('10.0.0.2 : goto pods-ingress-');
});

test('a policy that is older than the pod applies to it, even if its event is late', async () => {
  let begin: () => void = () => undefined;
  const mayBegin = new Promise<void>((resolve) => (begin = resolve));
  policies = makePolicies(
    withPolicyCalls(({ watch }) => ({ watch: (options) => mayBegin.then(() => watch(options)) })),
  );
  start();
  await clock.runUntil(() => nft.runs.length > 0, '1m');
  await createPolicy();
  const pod = announce('x/a', '10.0.0.1');
  await clock.advance(4000);
  expect(pod.ready).toBe(false);
  begin();
  await clock.runUntil(() => pod.ready, '1m');
  expect(nft.runs.at(-1)).toContain('10.0.0.1 : goto pods-ingress-');
});

test('an unresponsive API server delays a pod by seconds only', async () => {
  const list = ({ signal }: { readonly signal?: AbortSignal } = {}) =>
    new Promise<never>((_, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason as Error)),
    );
  policies = makePolicies(
    withPolicyCalls((calls) => ({
      namespace: () => ({ ...calls, list }) as unknown as ResourceClient<NetworkPolicy>,
    })),
  );
  start();
  await clock.runUntil(() => nft.runs.length > 0, '1m');
  const since = clock.now();
  const pod = announce('x/a', '10.0.0.1');
  await clock.runUntil(() => pod.ready, '1m');
  expect(clock.now() - since).toBe(5000);
  expect(logger.records.map(({ message }) => message)).toContain(
    'network policies: a pod starts with the policies that are known',
  );
});

test('a wait can be aborted; the pod gets its rules nevertheless', async () => {
  const giveUp = new AbortController();
  const waiting = announce('x/a', '10.0.0.1', giveUp.signal);
  giveUp.abort(new Error('timed out'));
  await clock.runUntil(() => waiting.error !== undefined, '1m');
  expect(waiting.error).toEqual(new Error('timed out'));
  await createPolicy();
  start();
  await clock.runUntil(
    () => nft.runs.some((commands) => commands.includes('10.0.0.1 : goto')),
    '1m',
  );
});

test('without policies the table is removed once, and pods do not wait', async () => {
  start();
  const first = announce('x/a', '10.0.0.1');
  await clock.runUntil(() => first.ready, '1m');
  const second = announce('x/b', '10.0.0.2');
  await clock.runUntil(() => second.ready, '1m');
  expect(nft.runs).toEqual(['add table inet t\ndelete table inet t\n']);
});

test('without a usable nft, one log line is written, and pods start', async () => {
  nft.obstacle = new NftError('NotInstalled', 'the program nft is not installed');
  const early = announce('x/a', '10.0.0.1');
  start();
  await clock.runUntil(() => early.ready, '1m');
  await policies.podAddressesReady(apiPod('x/b'), ['10.0.0.2'], abort.signal);
  policies.podForgotten('uid-x/a');
  expect(logger.records.map(({ message, values }) => [message, values['reason']])).toEqual([
    ['network policies: not enforced on this node', 'the program nft is not installed'],
  ]);
  expect(nft.runs).toEqual([]);
});
