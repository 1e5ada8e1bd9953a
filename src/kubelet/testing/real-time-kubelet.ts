// A kubelet on the system's clock with files and sockets, for tests with plugins: a real API server
// and a simulated runtime, whose container configurations are recorded.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { events, namespaces, nodes, pods } from '#api/groups/core/v1/index.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import type { Client } from '#client/client.ts';
import type { ContainerConfig, Runtime } from '#cri/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import type { KubeletConfig } from '../config.ts';
import { Kubelet } from '../kubelet.ts';
import type { Node, Pod } from '../types.ts';
import { noMounter } from '../volumes/mounter.ts';
import { NODE_NAME } from './harness.ts';

export interface RealTimeKubelet {
  readonly server: TestServer;
  readonly client: Client;
  /** The kubelet's root directory. */
  readonly rootDir: string;
  /** The configurations of all containers, in the order of their creation. */
  readonly containers: readonly ContainerConfig[];
  createPod(name: string, spec: New<v1.PodSpec>): Promise<Pod>;
  getPod(name: string): Promise<Pod>;
  deletePod(name: string): Promise<void>;
  waitForPod(name: string, condition: (pod: Pod) => boolean): Promise<Pod>;
  waitForGone(name: string): Promise<void>;
  waitForNode(condition: (node: Node) => boolean): Promise<Node>;
  waitFor(condition: wait.Condition): Promise<void>;
  /** Returns 'Reason: message' of each event about the pod. */
  eventsOf(name: string): Promise<readonly string[]>;
  /** Stops the kubelet; containers keep running. */
  stopKubelet(): Promise<void>;
  startKubelet(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRealTimeKubelet(
  overrides: Partial<KubeletConfig> = {},
): Promise<RealTimeKubelet> {
  const rootDir = mkdtempSync(join(tmpdir(), 'kubelet-'));
  const server = await startTestServer({
    clock: systemClock,
    disableAdmissionPlugins: ['ServiceAccount', 'TaintNodesByCondition'],
  });
  const { client } = server;
  for (const name of ['default', 'kube-node-lease']) {
    await client
      .resource(namespaces)
      .create({ metadata: { name } })
      .catch((error: unknown) => {
        if (!apierrors.isAlreadyExists(error)) throw error;
      });
  }
  const simulated = createSimulatedRuntime({
    clock: systemClock,
    random: new SeededRandom('runtime'),
  });
  const containers: ContainerConfig[] = [];
  const runtime = recording(simulated, containers);
  const makeKubelet = (): Kubelet =>
    new Kubelet({
      client,
      runtime,
      clock: systemClock,
      random: new SeededRandom('kubelet'),
      logger: silentLogger,
      nodeName: NODE_NAME,
      rootDir,
      podLogsDir: join(rootDir, 'logs'),
      podNetwork: false,
      mounter: noMounter,
      resolvConf: '',
      capacity: { cpu: '4', memory: '8Gi', pods: '110' },
      housekeepingMs: 200,
      nodeCheckMs: 500,
      relistMs: 50,
      // The disk of the machine under the tests may be nearly full.
      eviction: { hard: {} },
      ...overrides,
    });
  let kubelet = makeKubelet();
  await kubelet.start();
  const inDefault = client.resource(pods).namespace('default');
  const find = async (name: string): Promise<Pod | undefined> => {
    try {
      return await inDefault.get(name);
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      throw error;
    }
  };
  const waitFor = (condition: wait.Condition): Promise<void> =>
    wait.pollImmediately({ clock: systemClock, intervalMs: 20, timeoutMs: 25_000 }, condition);
  return {
    server,
    client,
    rootDir,
    containers,
    waitFor,
    createPod: (name, spec) =>
      inDefault.create({
        metadata: { name },
        spec: { nodeName: NODE_NAME, terminationGracePeriodSeconds: 1, ...spec },
      }),
    getPod: (name) => inDefault.get(name),
    deletePod: async (name) => {
      await inDefault.delete(name);
    },
    async waitForPod(name, condition) {
      let last: Pod | undefined;
      try {
        await waitFor(async () => {
          last = await find(name);
          return last !== undefined && condition(last);
        });
      } catch (error) {
        throw new Error(`pod ${name}: ${JSON.stringify(last?.status, undefined, 1)}`, {
          cause: error,
        });
      }
      return last!;
    },
    waitForGone: (name) => waitFor(async () => (await find(name)) === undefined),
    async waitForNode(condition) {
      let last: Node | undefined;
      await waitFor(async () => {
        last = await client.resource(nodes).get(NODE_NAME);
        return condition(last);
      });
      return last!;
    },
    async eventsOf(name) {
      const list = await client.resource(events).list();
      return list.items
        .filter((event) => event.involvedObject.name === name)
        .map((event) => `${event.reason}: ${event.message}`);
    },
    stopKubelet: () => kubelet.stop(),
    async startKubelet() {
      kubelet = makeKubelet();
      await kubelet.start();
    },
    async stop() {
      await kubelet.stop();
      await simulated.close();
      await server.stop();
      rmSync(rootDir, { recursive: true, force: true });
    },
  };
}

/** Returns the runtime, which adds the configurations of new containers to the list. */
function recording(runtime: Runtime, containers: ContainerConfig[]): Runtime {
  const service = new Proxy(runtime.runtime, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const method = value as (...args: unknown[]) => unknown;
      if (name !== 'createContainer') return method.bind(target);
      return (sandbox: string, config: ContainerConfig, ...rest: unknown[]) => {
        containers.push(config);
        return method.call(target, sandbox, config, ...rest);
      };
    },
  });
  return { ...runtime, runtime: service };
}
