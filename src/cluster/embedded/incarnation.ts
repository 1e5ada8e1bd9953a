// The handle of a cluster of `startCluster`, made from its parts.

import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { VirtualClock } from '#machinery/clock.ts';
import { resolveWith } from '#dns/index.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { Simulation } from '#simulation/index.ts';
import type { Cluster } from '../composition/cluster.ts';
import { kubeconfigFor, writeKubeconfig, type KubeconfigEntry } from '../credentials/kubeconfig.ts';
import type { EmbeddedCluster, StartClusterOptions } from './embedded-cluster.ts';
import { makeWebhooks } from './extensions/index.ts';
import type { Forking } from './forks/forking.ts';
import { type Awakening, type Incarnation, type LazyNode } from './forks/index.ts';
import { makeHandle } from './handle.ts';
import { readRecording, replayRecording } from './recording.ts';
import type { Setup } from './setup.ts';

/** A running cluster of `startCluster`, and how to copy its state. */
export interface EmbeddedIncarnation extends Incarnation {
  readonly handle: Omit<EmbeddedCluster, keyof Forking<never>> & {
    readonly [SIMULATION]: Simulation;
  };
}

/** Makes the handle of a cluster. */
export function embed(
  options: StartClusterOptions,
  {
    clock,
    random,
    logger,
    memory,
    insight,
    closeInsight,
    inProcess,
    simulation,
    history,
    recording,
    nodes,
    filesDir,
    moving,
    state,
  }: Setup,
  cluster: Cluster,
  access: KubeconfigEntry | undefined,
  awakening?: Awakening,
): EmbeddedIncarnation {
  const kubeconfigPath = access && join(filesDir, 'kubeconfig');
  const removeFiles = (): void => rmSync(filesDir, { recursive: true, force: true });
  if (access !== undefined) {
    writeKubeconfig(kubeconfigPath as string, access);
    // The file has a key: a process that ends without stop() deletes it, too.
    process.once('exit', removeFiles);
  }
  const stoppedNodes = new Set(state?.stoppedNodes);
  const handle = makeHandle({
    client: cluster.client,
    clock,
    url: cluster.url,
    kubeconfig: access && kubeconfigFor(access),
    kubeconfigPath,
    random: random.derive('embedding'),
    logger,
    connect: () => cluster.connect(),
    clientOfController: (component, userAgent) => cluster.clientOfController(component, userAgent),
    clockOfController: (name) => simulation.clockOf(name, clock),
    registerController: (name, restart) => simulation.register(name, restart),
    moving,
    async stop() {
      // Requests that a fault holds back would keep components from stopping.
      simulation.faults.endAll();
      try {
        closeInsight();
        await moving(cluster.stop());
      } finally {
        recording?.close();
        process.off('exit', removeFiles);
        await rm(filesDir, { recursive: true, force: true });
      }
    },
  });
  return {
    handle: {
      ...handle,
      ...insight,
      webhooks: makeWebhooks({
        client: cluster.client,
        local: inProcess.localWebhooks,
        authorizer: inProcess.localAuthorizer,
      }),
      clientOf: ({ name, groups = [] }) => cluster.clientOf({ name, groups }, 'coxswain'),
      [SIMULATION]: simulation,
      faults: simulation.faults,
      replay: async (path) => {
        if (!(clock instanceof VirtualClock))
          throw new TypeError(
            "a recording is replayed on virtual time: start with clock: 'virtual'",
          );
        return replayRecording(readRecording(path), {
          clock,
          connect: (user) => cluster.connectAs(user),
        });
      },
      historyHash: () => {
        if (history === undefined)
          throw new TypeError('this cluster keeps no history: start it with `hashHistory: true`');
        return history.digest();
      },
      seed: random instanceof SeededRandom ? random.seed : undefined,
      dnsPort: cluster.dns?.addresses[0]?.port,
      resolve: async (name, type) => {
        await awakening?.all();
        if (cluster.dns === undefined)
          throw new TypeError('this cluster runs no DNS: start it with `dns: true`');
        return resolveWith(cluster.dns, name, type);
      },
      stopNode: async (name) => {
        await awakening?.all();
        await moving(cluster.stopNode(name));
        stoppedNodes.add(name);
      },
      startNode: async (name) => {
        await awakening?.all();
        await moving(cluster.startNode(name));
        stoppedNodes.delete(name);
      },
    },
    freeze: () => ({
      now: clock.now(),
      storage: memory.freeze(),
      localWebhooks: inProcess.localWebhooks.copy(),
      localAuthorizer: inProcess.localAuthorizer.copy(),
      nodes: nodes.map((node) => node.freeze()),
      random: (random as SeededRandom).state(),
      stoppedNodes: new Set(stoppedNodes),
      quietNodes: quietOf(nodes, cluster.quietNodes()),
      readOnlyAt: state?.readOnlyAt,
    }),
    awake: () => awakening?.all() ?? Promise.resolve(),
  };
}

/** Returns the nodes on which nothing happens by itself, neither in the kubelet nor in containers. */
function quietOf(nodes: readonly LazyNode[], quiet: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(nodes.flatMap((node) => (!node.isBusy && quiet.has(node.name) ? node.name : [])));
}

/** The seams of a cluster, which are no part of its public surface. */
const SIMULATION = Symbol('coxswain.simulation');

/** Throws TypeError for a cluster that `startCluster` has not started. */
export function simulationOf(cluster: EmbeddedCluster): Simulation {
  const simulation = (cluster as { readonly [SIMULATION]?: Simulation })[SIMULATION];
  if (simulation === undefined) throw new TypeError('this cluster is none of startCluster');
  return simulation;
}
