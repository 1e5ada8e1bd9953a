// The load of the scale benchmark: what is done to a cluster, through its API alone.

import { deployments } from '#api/groups/apps/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { nodes as nodeType, pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import type { Connection } from '../load/connection.ts';
import { pauseDeployment } from '../workloads.ts';

/** Pods of each Deployment. */
export const REPLICAS = 20;
const NAMESPACE = 'default';
const LEASE_NAMESPACE = 'kube-node-lease';
const WRITERS = 16;
const READERS = 8;
/** Clients that list all pods at once. */
export const LISTERS = 10;
const STARTERS = 4;
const PAGE = 500;
const POLL_MS = 500;
const TIMEOUT_MS = 1_800_000;
const FAILURE = { key: 'bench.example.com/failed', effect: 'NoExecute' } as const;

const nameOf = (index: number): string => `scale-${index}`;

/** Calls `action` for each index below `count`, `atOnce` calls at a time. */
async function forEachIndex(
  count: number,
  atOnce: number,
  action: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await action(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Waits until so many nodes are Ready, without a taint of their lifecycle. */
export async function untilNodesReady(client: Client, count: number): Promise<void> {
  const resource = client.resource(nodeType);
  await until(`${count} nodes are Ready`, async () => {
    let ready = 0;
    let others = 0;
    for await (const { spec, status } of eachOf((options) => resource.list(options))) {
      const isReady =
        status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') &&
        (spec.taints ?? []).every(({ key }) => !key.startsWith('node.kubernetes.io/'));
      if (isReady) ready++;
      // The name of the first node is that of the machine, which may have changed since.
      else if (++others > 1) return false;
    }
    return ready >= count;
  });
}

interface Page<T> {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly T[];
}

/** Yields all objects, page by page, so that a caller that ends early costs the server little. */
async function* eachOf<T>(
  list: (options: { readonly limit: number; readonly continue?: string }) => Promise<Page<T>>,
): AsyncIterable<T> {
  let token: string | undefined;
  do {
    const { metadata, items }: Page<T> = await list({
      limit: PAGE,
      ...(token !== undefined && { continue: token }),
    });
    yield* items;
    token = metadata.continue;
  } while (token !== undefined && token !== '');
}

/**
 * Creates the Deployments and waits until all their pods are available. Returns how long each
 * creation took, in ms.
 */
export async function createDeployments(client: Client, count: number): Promise<readonly number[]> {
  const resource = client.resource(deployments).namespace(NAMESPACE);
  const latencies: number[] = [];
  await forEachIndex(count, WRITERS, async (i) => {
    const began = systemClock.monotonic();
    await resource.create(pauseDeployment(nameOf(i), REPLICAS));
    latencies.push(systemClock.monotonic() - began);
  });
  await untilAvailable(client, count);
  return latencies;
}

/**
 * Creates further Deployments, numbered from `first` on, and waits until all their pods are
 * available.
 */
export async function addDeployments(client: Client, first: number, count: number): Promise<void> {
  const resource = client.resource(deployments).namespace(NAMESPACE);
  await forEachIndex(count, WRITERS, async (i) => {
    const name = nameOf(first + i);
    await resource.create(pauseDeployment(name, REPLICAS));
  });
  // One after the other: a list of all would cost more than the pods.
  for (let i = first; i < first + count; i++)
    await until(`${nameOf(i)} is available`, async () => {
      const { status } = await resource.get(nameOf(i));
      return status.availableReplicas === REPLICAS;
    });
}

/** Gives the first `count` Deployments another template, and waits until they are rolled out. */
export async function rollOut(client: Client, count: number, all: number): Promise<void> {
  const resource = client.resource(deployments).namespace(NAMESPACE);
  const annotations = { revision: String(systemClock.now()) };
  const patch = { spec: { template: { metadata: { annotations } } } };
  await forEachIndex(count, WRITERS, (i) =>
    resource.patch(nameOf(i), 'application/merge-patch+json', patch),
  );
  await untilAvailable(client, all);
}

/**
 * Evicts everything from nodes, as the loss of a node does, and waits until the pods run elsewhere.
 * Returns the number of pods that had to move.
 */
export async function failNodes(client: Client, count: number, all: number): Promise<number> {
  const resource = client.resource(nodeType);
  const failed = (await resource.list({ limit: count })).items.map(({ metadata }) => metadata.name);
  const podsOf = async (node: string): Promise<number> =>
    (await client.resource(pods).list({ fieldSelector: `spec.nodeName=${node}` })).items.length;
  const moved = (await Promise.all(failed.map(podsOf))).reduce((sum, each) => sum + each, 0);
  await Promise.all(failed.map((node) => setTaints(client, node, [FAILURE])));
  await until('the pods of failed nodes are gone', async () => {
    for (const node of failed) if ((await podsOf(node)) > 0) return false;
    return true;
  });
  await untilAvailable(client, all);
  await Promise.all(failed.map((node) => setTaints(client, node, [])));
  return moved;
}

async function setTaints(
  client: Client,
  node: string,
  taints: readonly (typeof FAILURE)[],
): Promise<void> {
  await client
    .resource(nodeType)
    .patch(node, 'application/merge-patch+json', { spec: { taints: taints } });
}

/** Gets one pod again and again. */
export async function getOne(client: Client, times: number): Promise<void> {
  const resource = client.resource(pods).namespace(NAMESPACE);
  const name = await somePod(client);
  await forEachIndex(times, READERS, () => resource.get(name));
}

/**
 * Changes pods in turn. Each change is an event for every component that watches. Returns how long
 * each took, in ms.
 */
export async function changePods(client: Client, times: number): Promise<readonly number[]> {
  const resource = client.resource(pods).namespace(NAMESPACE);
  const { items } = await resource.list({ limit: PAGE });
  const latencies: number[] = [];
  await forEachIndex(times, READERS, async (i) => {
    const name = items[i % items.length]?.metadata.name;
    if (name === undefined) throw new Error('there is no pod to change');
    const began = systemClock.monotonic();
    await resource.patch(name, 'application/merge-patch+json', {
      metadata: { annotations: { change: String(i) } },
    });
    latencies.push(systemClock.monotonic() - began);
  });
  return latencies;
}

/**
 * Starts pods, a few at a time, and deletes them. Returns the time from each request to the pod's
 * Ready, in ms.
 */
export async function startPods(client: Client, count: number): Promise<readonly number[]> {
  if (count === 0) return [];
  const resource = client.resource(pods).namespace(NAMESPACE);
  const began = new Map<string, number>();
  const latencies: number[] = [];
  const selector = { labelSelector: 'app=scale-start' };
  const { metadata } = await resource.list(selector);
  const events = await resource.watch({ ...selector, resourceVersion: metadata.resourceVersion });
  const { spec } = pauseDeployment('scale-start', 1).spec.template;
  const created = forEachIndex(count, STARTERS, async (i) => {
    const name = `scale-start-${i}`;
    began.set(name, systemClock.monotonic());
    await resource.create({ metadata: { name, labels: { app: 'scale-start' } }, spec });
  });
  for await (const { object } of events) {
    const { name } = object.metadata;
    const start = began.get(name);
    const ready = object.status?.conditions?.some(
      ({ type, status }) => type === 'Ready' && status === 'True',
    );
    if (start === undefined || ready !== true) continue;
    began.delete(name);
    latencies.push(systemClock.monotonic() - start);
    if (latencies.length === count) break;
  }
  events.stop();
  await created;
  await resource.deleteCollection(selector);
  return latencies;
}

/** Renews leases of nodes, in turn, over connections, as kubelets on other machines do. */
export async function renewLeases(client: Client, times: number): Promise<void> {
  const resource = client.resource(leases).namespace(LEASE_NAMESPACE);
  const { items } = await resource.list({ limit: PAGE });
  await forEachIndex(times, READERS, async (i) => {
    const lease = items[i % items.length];
    if (lease?.spec === undefined) throw new Error('there is no lease to renew');
    const renewTime = new Date(systemClock.now()).toISOString().replace('Z', '000Z');
    await resource.patch(lease.metadata.name, 'application/merge-patch+json', {
      spec: { renewTime },
    });
  });
}

/** Lists the first page of the pods. */
export async function listPage(client: Client, times: number): Promise<void> {
  await forEachIndex(times, 1, () => client.resource(pods).list({ limit: PAGE }));
}

/** Lists all pods. The list is not decoded here. */
export async function listAllPods(connection: Connection): Promise<void> {
  const { status } = await connection.request('GET', '/api/v1/pods', undefined);
  if (status !== 200) throw new Error(`a list was answered with ${status}`);
}

/** Lists all pods, by ten clients at once. */
export async function listStorm(listAll: () => Promise<void>): Promise<void> {
  await forEachIndex(LISTERS, LISTERS, listAll);
}

/** Waits until every Deployment has all its pods, of the newest template, available. */
export async function untilAvailable(client: Client, count: number): Promise<void> {
  const resource = client.resource(deployments).namespace(NAMESPACE);
  await until(`${count} Deployments are available`, async () => {
    let available = 0;
    for await (const { metadata, status } of eachOf((options) => resource.list(options))) {
      const isAvailable =
        status.observedGeneration === metadata.generation &&
        status.updatedReplicas === REPLICAS &&
        status.replicas === REPLICAS &&
        status.availableReplicas === REPLICAS;
      if (!isAvailable) return false;
      available++;
    }
    return available === count;
  });
}

async function somePod(client: Client): Promise<string> {
  const { items } = await client.resource(pods).namespace(NAMESPACE).list({ limit: 1 });
  const name = items[0]?.metadata.name;
  if (name === undefined) throw new Error('there is no pod');
  return name;
}

/** Polls the condition, for at most a tenth of the time. */
async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = systemClock.monotonic() + TIMEOUT_MS;
  for (;;) {
    const began = systemClock.monotonic();
    if (await condition()) return;
    const ended = systemClock.monotonic();
    if (ended > deadline) throw new Error(`not reached in ${TIMEOUT_MS / 60_000} minutes: ${what}`);
    await systemClock.sleep(Math.max(POLL_MS, 9 * (ended - began)));
  }
}
