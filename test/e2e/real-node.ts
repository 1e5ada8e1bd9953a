// A kubelet of this process with a private containerd and an API server in memory, on file systems
// of chosen sizes: to fill them, and to run pods with all settings of a node.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { events, namespaces, nodes, pods, type Pod } from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { partOrWhole } from '#machinery/testing/long-tests.ts';
import * as wait from '#machinery/wait.ts';
import type { KubeletConfig } from '#kubelet/config.ts';
import { Kubelet } from '#kubelet/kubelet.ts';
import {
  bridgeName,
  bridgeNetwork,
  findCniPlugins,
  removeBridgeNetwork,
  writeCniConfig,
} from '#network/index.ts';
import {
  createContainerdRuntime,
  launchContainerd,
  missingContainerdTools,
} from '#runtime/containerd/index.ts';
import { busyboxHint, findBusybox, writeBusyboxArchive } from '../fixtures/images/build.ts';
import { run } from './harness.ts';

export const NODE = 'pressed';
const plugins = findCniPlugins();

/** The reason why this machine cannot run such a node; undefined if it can. */
export const missingRealNode =
  missingContainerdTools(plugins)?.hint ??
  (findBusybox() === undefined ? busyboxHint : undefined) ??
  (process.getuid?.() === 0 ? undefined : 'root');

/**
 * The same for tests that take minutes: they run with COXSWAIN_LONG_TESTS=1, as every night
 * (tools/nightly).
 */
export const missingLongTests = partOrWhole('COXSWAIN_LONG_TESTS=1', missingRealNode);

export interface RealNodeOptions {
  /** The range of pods' addresses. Nodes with the same range cannot run at the same time. */
  readonly podCidr?: string;
  /** Files below the kubelet's root directory that exist before it starts, by path. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface RealNode {
  /** The kubelet's root directory, on a file system of its own. */
  readonly rootDir: string;
  /** The API server of the node. */
  readonly client: Client;
  /** The endpoint of its containerd. */
  readonly containerd: string;
  create(pod: New<Pod>): Promise<void>;
  get(name: string): Promise<Pod>;
  /** Returns the names of pods that have failed as evicted. */
  evicted(): Promise<readonly string[]>;
  /** Returns 'Reason: message' of the events about an object. */
  eventsOf(name: string): Promise<readonly string[]>;
  condition(type: string): Promise<string | undefined>;
  /** Waits until the pod runs, and all its containers are ready. */
  ready(name: string): Promise<Pod>;
  /** Runs a command in the first container of the pod. Resolves with its output and its errors. */
  exec(name: string, ...command: readonly string[]): Promise<string>;
  /** Deletes the pod, and waits until it is gone. */
  remove(name: string): Promise<void>;
  allocatable(resource: string): Promise<string | undefined>;
  deleteAll(): Promise<void>;
  until(what: string, condition: () => Promise<boolean>, timeoutMs?: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startRealNode(
  sizeMiB: number,
  config: Partial<KubeletConfig> | ((dir: string) => Partial<KubeletConfig>),
  { podCidr = '10.201.9.0/24', files = {} }: RealNodeOptions = {},
): Promise<RealNode> {
  const dir = mkdtempSync(join(tmpdir(), 'coxswain-pressure-'));
  const rootDir = join(dir, 'kubelet');
  mkdirSync(rootDir);
  const undo: (() => Promise<unknown>)[] = [
    () => Promise.resolve(rmSync(dir, { recursive: true, force: true })),
  ];
  const stop = async (): Promise<void> => {
    while (undo.length > 0) await undo.pop()?.();
  };
  try {
    await mustRun('mount', ['-t', 'tmpfs', '-o', `size=${sizeMiB}m`, 'pressure', rootDir]);
    undo.push(() => run('umount', ['-R', rootDir]));
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(rootDir, path)), { recursive: true });
      writeFileSync(join(rootDir, path), content);
    }
    const server = await startTestServer({
      clock: systemClock,
      disableAdmissionPlugins: ['ServiceAccount', 'TaintNodesByCondition', 'Priority'],
    });
    undo.push(() => server.stop());
    const { client } = server;
    for (const name of ['default', 'kube-node-lease'])
      await client
        .resource(namespaces)
        .create({ metadata: { name } })
        .catch((error: unknown) => {
          if (!apierrors.isAlreadyExists(error)) throw error;
        });
    const bridge = bridgeName(dir);
    const cniConfDir = join(dir, 'cni');
    await writeCniConfig(cniConfDir, bridgeNetwork({ podCidr, bridge, dataDir: cniConfDir }));
    undo.push(() => removeBridgeNetwork({ bridge, dataDir: cniConfDir }));
    const containerd = await launchContainerd({
      dir: join(dir, 'containerd'),
      cniConfDir,
      cniBinDir: plugins ?? '',
      logger: silentLogger,
    });
    undo.push(() => containerd.destroy());
    const archive = join(dir, 'busybox.tar');
    writeBusyboxArchive(archive);
    await containerd.importImages(archive);
    const runtime = createContainerdRuntime({ endpoint: containerd.endpoint });
    undo.push(() => runtime.close());
    const kubelet = new Kubelet({
      client,
      runtime,
      clock: systemClock,
      random: new SeededRandom('pressure'),
      logger: silentLogger,
      nodeName: NODE,
      rootDir,
      podLogsDir: join(dir, 'logs'),
      clusterDNS: [],
      // The only image cannot be pulled again if the machine's own disk is almost full.
      imageGc: { highThresholdPercent: 100 },
      ...(typeof config === 'function' ? config(dir) : config),
    });
    await kubelet.start();
    undo.push(() => kubelet.stop());
    const resource = client.resource(pods).namespace('default');
    const until: RealNode['until'] = async (what, condition, timeoutMs = 40_000) => {
      try {
        await wait.pollImmediately({ clock: systemClock, intervalMs: 100, timeoutMs }, condition);
      } catch (error) {
        const { items } = await resource.list();
        const states = items.map(
          ({ metadata, status }) =>
            `${metadata.name} ${status.phase} ${status.reason ?? ''} ${status.message ?? ''}`,
        );
        const recent = (await client.resource(events).list()).items
          .slice(-20)
          .map(({ involvedObject, reason, message }) =>
            [involvedObject.name, reason, message].join(' '),
          );
        const lines = [...states, 'events:', ...recent].join('\n');
        throw new Error(`waited in vain for ${what}:\n${lines}`, { cause: error });
      }
    };
    const node = () => client.resource(nodes).get(NODE);
    const get = (name: string): Promise<Pod> => resource.get(name) as Promise<Pod>;
    const isReady = async (name: string): Promise<boolean> =>
      (await get(name)).status.conditions?.some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      ) === true;
    return {
      rootDir,
      client,
      containerd: containerd.endpoint,
      async ready(name) {
        await until(`${name} to be ready`, () => isReady(name));
        return await get(name);
      },
      async exec(name, ...command) {
        const { containerID = '' } = (await get(name)).status.containerStatuses?.[0] ?? {};
        const id = containerID.replace('containerd://', '');
        const { stdout, stderr } = await runtime.runtime.execSync(id, command, {
          timeoutMs: 30_000,
        });
        return Buffer.concat([stdout, stderr]).toString('utf8').trim();
      },
      async remove(name) {
        await resource.delete(name, { gracePeriodSeconds: 1 });
        await until(`${name} to be gone`, () =>
          get(name).then(
            () => false,
            (error: unknown) => {
              if (apierrors.isNotFound(error)) return true;
              throw error;
            },
          ),
        );
      },
      create: async (pod) => void (await resource.create(pod)),
      get,
      evicted: async () =>
        (await resource.list()).items
          .filter(({ status }) => status.phase === 'Failed' && status.reason === 'Evicted')
          .map(({ metadata }) => metadata.name)
          .toSorted(),
      eventsOf: async (name) =>
        (await client.resource(events).list()).items
          .filter(({ involvedObject }) => involvedObject.name === name)
          .map(({ reason, message }) => `${reason}: ${message}`),
      condition: async (type) =>
        (await node()).status.conditions?.find((one) => one.type === type)?.status,
      allocatable: async (name) => (await node()).status.allocatable?.[name],
      async deleteAll() {
        for (const { metadata } of (await resource.list()).items)
          await resource.delete(metadata.name, { gracePeriodSeconds: 1 });
        await until('no pod', async () => (await resource.list()).items.length === 0);
        // The kubelet removes them from the runtime afterwards.
        await until(
          'no sandbox',
          async () => (await runtime.runtime.listPodSandbox()).length === 0,
        );
      },
      until,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function mustRun(command: string, args: readonly string[]): Promise<void> {
  const { status, stderr } = await run(command, [...args]);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}
