// A kubelet with a simulated runtime, a real API server and a virtual clock, for tests.

import { events, namespaces, pods } from '#api/groups/core/v1/index.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import type { Client } from '#client/client.ts';
import type { Runtime } from '#cri/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import type { KubeletConfig } from '../config.ts';
import { Kubelet } from '../kubelet.ts';
import type { Pod } from '../types.ts';

export const NODE_NAME = 'node-1';

export interface Harness {
  readonly clock: VirtualClock;
  readonly server: TestServer;
  readonly client: Client;
  readonly runtime: Runtime;
  readonly kubelet: Kubelet;
  /** Creates a pod that is bound to the node. */
  createPod(name: string, spec?: New<v1.PodSpec>, metadata?: New<Pod['metadata']>): Promise<Pod>;
  getPod(name: string): Promise<Pod>;
  /** Returns the pod; undefined once it is gone. */
  findPod(name: string): Promise<Pod | undefined>;
  deletePod(name: string, gracePeriodSeconds?: number): Promise<void>;
  /**
   * Advances the clock until the condition holds for the pod; fails with the pod after the timeout.
   */
  waitForPod(name: string, condition: (pod: Pod) => boolean, timeout?: string): Promise<Pod>;
  waitForGone(name: string, timeout?: string): Promise<void>;
  /** Counts the changes of the pod from now on. */
  watchWrites(name: string): Promise<{ readonly count: number }>;
  /** Returns 'Reason: message' of each event about the object, oldest first. */
  eventsOf(name: string): Promise<readonly string[]>;
  /** Starts a kubelet in place of the stopped one: with the same runtime and API. */
  restartKubelet(overrides?: Partial<KubeletConfig>): Promise<Kubelet>;
  stop(): Promise<void>;
}

export async function startHarness(overrides: Partial<KubeletConfig> = {}): Promise<Harness> {
  const clock = new VirtualClock();
  const server = await startTestServer({
    clock,
    // Disabled, because tests leave these checks to the kubelet.
    disableAdmissionPlugins: ['ServiceAccount', 'TaintNodesByCondition', 'PodResizeValidator'],
  });
  const { client } = server;
  await client
    .resource(namespaces)
    .create({ metadata: { name: 'kube-node-lease' } })
    .catch(ignoreExisting);
  await client
    .resource(namespaces)
    .create({ metadata: { name: 'default' } })
    .catch(ignoreExisting);
  const runtime =
    overrides.runtime ?? createSimulatedRuntime({ clock, random: new SeededRandom('runtime') });
  const config: KubeletConfig = {
    client,
    runtime,
    clock,
    random: new SeededRandom('kubelet'),
    logger: server.logger,
    nodeName: NODE_NAME,
    hostFiles: false,
    podNetwork: false,
    clusterDNS: ['10.96.0.10'],
    podLogsDir: '/nonexistent/pod-logs',
    addresses: [
      { type: 'InternalIP', address: '192.168.0.5' },
      { type: 'Hostname', address: NODE_NAME },
    ],
    capacity: { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi' },
    ...overrides,
  };
  const inDefault = client.resource(pods).namespace('default');
  const find = async (name: string): Promise<Pod | undefined> => {
    try {
      return await inDefault.get(name);
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      throw error;
    }
  };
  let kubelet = new Kubelet(config);
  await kubelet.start();
  return {
    clock,
    server,
    client,
    runtime,
    get kubelet() {
      return kubelet;
    },
    createPod: (name, spec = {}, metadata = {}) =>
      inDefault.create({
        metadata: { ...metadata, name },
        spec: {
          nodeName: NODE_NAME,
          containers: [{ name: 'main', image: 'busybox:1.36', command: ['sleep', 'infinity'] }],
          ...spec,
        },
      }),
    getPod: (name) => inDefault.get(name),
    findPod: find,
    async deletePod(name, gracePeriodSeconds) {
      await inDefault.delete(name, gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds });
    },
    async waitForPod(name, condition, timeout = '5m') {
      let last: Pod | undefined;
      try {
        await clock.runUntil(async () => {
          last = await find(name);
          return last !== undefined && condition(last);
        }, timeout);
      } catch (error) {
        throw new Error(
          `pod ${name} did not get there: ${JSON.stringify(last?.status, undefined, 1)}`,
          { cause: error },
        );
      }
      return last as Pod;
    },
    async waitForGone(name, timeout = '5m') {
      await clock.runUntil(async () => (await find(name)) === undefined, timeout);
    },
    async watchWrites(name) {
      const seen = { count: 0 };
      const stream = await inDefault.watch({ fieldSelector: `metadata.name=${name}` });
      void (async () => {
        for await (const event of stream) if (event.type === 'MODIFIED') seen.count++;
      })();
      return seen;
    },
    async eventsOf(name) {
      const list = await client.resource(events).list();
      return list.items
        .filter((event) => event.involvedObject.name === name)
        .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
        .map((event) => `${event.reason}: ${event.message}`);
    },
    async restartKubelet(changes = {}) {
      kubelet = new Kubelet({ ...config, ...changes });
      await kubelet.start();
      return kubelet;
    },
    async stop() {
      await kubelet.stop();
      await runtime.close();
      await server.stop();
    },
  };
}

function ignoreExisting(err: unknown): void {
  if (!apierrors.isAlreadyExists(err)) throw err;
}
