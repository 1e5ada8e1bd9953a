// Chooses what runs the containers of the first node, and prepares it: containerd where it can be
// had, host processes otherwise.

import { basename, join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { Runtime } from '#cri/index.ts';
import { SimulationJournal } from '#runtime/simulated/journal.ts';
import { realistic } from '#runtime/simulated/config.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import { machineAddresses } from '#kubelet/node/machine.ts';
import type { ProxyMode } from '#proxy/index.ts';
import type { DataDirLayout } from '../data-dir/data-dir.ts';
import { type ImagesConfig, imageSourcesIn, loadImages } from './images.ts';
import { canInstall, installTools, isRoot, missingTools } from '../machine/install.ts';
import {
  type NodePodNetwork,
  nodePodNetwork,
  type PodNetworkFlags,
  SYSTEM_CNI,
} from '../nodes/pod-network.ts';
import { UserError } from '../user-error.ts';

export type RuntimeChoice = 'auto' | 'containerd' | 'process' | 'simulated';

export interface RuntimeRequest {
  readonly choice: RuntimeChoice;
  /** A CRI socket that is there already. */
  readonly endpoint?: string;
  /** Whether missing programs may be installed. */
  readonly install: boolean;
  /** The node's ranges of pods. Empty: they are unknown until the node is registered. */
  readonly podCidrs: readonly string[];
  readonly podNetwork: PodNetworkFlags;
  /** A folder of images to import into containerd. Only with that runtime. */
  readonly images?: string;
  /** The file in which the simulated runtime records its containers. Absent: they end with the process. */
  readonly simulationJournal?: string;
  readonly layout: DataDirLayout;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly progress: (text: string) => void;
  readonly signal: AbortSignal;
}

export interface PreparedRuntime {
  readonly runtime: Runtime;
  readonly simulated: boolean;
  /** Containers have cgroups, so that CPUs and memory can be assigned to them. */
  readonly hasCgroups: boolean;
  /** Pods have a network of their own on this machine. */
  readonly podNetwork: boolean;
  /** The connection of the pods to those of other machines. Undefined: Coxswain makes none. */
  readonly network?: NodePodNetwork;
  /** Text for the terminal. */
  readonly description: string;
  /** The proxy that its pods need. Undefined: none, the pods are simulated. */
  readonly proxy?: { readonly mode: ProxyMode; readonly bridge?: string };
  /** Stops what was started for it, after the runtime has been closed. */
  stop(): Promise<void>;
}

const nothing = (): Promise<void> => Promise.resolve();

export async function prepareRuntime(request: RuntimeRequest): Promise<PreparedRuntime> {
  if (
    request.endpoint !== undefined &&
    request.choice !== 'auto' &&
    request.choice !== 'containerd'
  ) {
    throw new UserError(
      `--container-runtime-endpoint goes with --runtime containerd, not with ${request.choice}`,
    );
  }
  const { images, choice } = request;
  if (images !== undefined && (choice === 'simulated' || choice === 'process'))
    throw new UserError(`--images goes with --runtime containerd, not with ${choice}`);
  switch (choice) {
    case 'simulated':
      checkPodNetwork(request, 'simulated pods');
      return simulated(request);
    case 'process':
      return hostProcesses(request, 'host processes');
    case 'containerd':
      return containerd(request);
    case 'auto': {
      if (request.endpoint !== undefined) return containerd(request);
      const obstacle = await obstacleToContainerd(request);
      if (obstacle === undefined) return containerd(request);
      if (images !== undefined)
        throw new UserError(`--images needs containerd, which cannot run here: ${obstacle}`);
      return hostProcesses(request, `host processes, without isolation (${obstacle})`);
    }
  }
}

/** Why containerd cannot be run here; installs what is missing if that is allowed. */
async function obstacleToContainerd({
  install,
  progress,
}: RuntimeRequest): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'containerd needs Linux';
  if (!isRoot()) return 'containerd needs root';
  const missing = missingTools();
  if (missing.length === 0) return undefined;
  if (!install) return `${missing.join(', ')} not installed, and --no-install was given`;
  if (!canInstall()) return `${missing.join(', ')} not installed, and there is no apt-get`;
  return installTools(progress);
}

function simulated({
  clock,
  random,
  logger,
  podCidrs: [podCidr],
  simulationJournal: path,
}: RuntimeRequest): PreparedRuntime {
  const journal = path === undefined ? undefined : new SimulationJournal({ path, logger });
  return {
    runtime: createSimulatedRuntime({
      clock,
      random,
      ...(podCidr === undefined ? { awaitsPodCidr: true } : { podCidr }),
      ...(journal !== undefined && { journal: journal.node('') }),
      ...realistic,
    }),
    simulated: true,
    hasCgroups: false,
    podNetwork: false,
    description: 'simulated: pods only pretend to run',
    stop: async () => journal?.close(),
  };
}

/** Throws UserError if a network was asked for that pods of this runtime cannot have. */
function checkPodNetwork(
  { podNetwork: { podNetwork = 'none' } }: RuntimeRequest,
  what: string,
): void {
  if (podNetwork === 'none') return;
  throw new UserError(
    `--pod-network ${podNetwork} needs pods with a network of their own, which ${what} do not have: see --runtime`,
  );
}

async function hostProcesses(
  request: RuntimeRequest,
  description: string,
): Promise<PreparedRuntime> {
  checkPodNetwork(request, description);
  const { layout, clock, random, logger } = request;
  const { createProcessRuntime } = await import('#runtime/process/index.ts');
  logger.warn(
    'containers run as processes of this host, without isolation: pods can read and change ' +
      'what this process can, and Pod Security levels, limits and network policies protect ' +
      'nothing',
    { runtime: 'process' },
  );
  // Endpoints of services cannot be in the loopback range, so pods have the machine's address, as
  // pods of the host's network have.
  const [hostIp] = machineAddresses();
  const runtime = createProcessRuntime({
    stateDir: layout.runtime,
    ...(hostIp !== undefined && { hostIp }),
    clock,
    random,
    logger: logger.with({ component: 'runtime' }),
  });
  return {
    runtime,
    simulated: false,
    hasCgroups: false,
    podNetwork: false,
    description,
    proxy: { mode: 'userspace' },
    stop: nothing,
  };
}

async function containerd(request: RuntimeRequest): Promise<PreparedRuntime> {
  const { layout, clock, logger, podCidrs, podNetwork, progress, signal } = request;
  const { createContainerdRuntime, imageVolumesIn } = await import('#runtime/containerd/index.ts');
  // A folder without images is an error before anything is started.
  const sources = request.images === undefined ? [] : await imageSourcesIn(request.images);
  if (request.endpoint !== undefined) {
    const runtime = createContainerdRuntime({ endpoint: request.endpoint, clock });
    try {
      const version = await runtime.runtime.version({ signal, timeoutMs: 10_000 });
      await importAll(sources, { dataDir: layout.root, endpoint: request.endpoint }, progress);
      const network =
        podNetwork.podNetwork === undefined
          ? undefined
          : nodePodNetwork(podNetwork, layout.containerd, SYSTEM_CNI.confDir);
      return {
        runtime,
        simulated: false,
        hasCgroups: true,
        podNetwork: true,
        ...(network !== undefined && { network }),
        description: `${version.runtimeName} ${version.runtimeVersion} at ${request.endpoint}`,
        proxy: {
          mode: 'auto',
          ...(network !== undefined && { bridge: network.settings.names.bridge }),
        },
        stop: nothing,
      };
    } catch (error) {
      await runtime.close();
      throw new UserError(
        `no container runtime answers at ${request.endpoint}: ${(error as Error).message}`,
        {
          cause: error,
        },
      );
    }
  }
  const obstacle = await obstacleToContainerd(request);
  if (obstacle !== undefined) {
    throw new UserError(
      `cannot run containerd: ${obstacle}. Take --runtime process or simulated, or name a ` +
        'runtime with --container-runtime-endpoint.',
    );
  }
  progress('starting containerd');
  const { startPrivateContainerd } = await import('./private-containerd.ts');
  const network = nodePodNetwork(podNetwork, layout.containerd, join(layout.containerd, 'cni'));
  const launched = await startPrivateContainerd({
    dir: layout.containerd,
    podNetwork: network,
    podCidrs,
    clock,
    logger: logger.with({ component: 'containerd' }),
    signal,
  });
  const runtime = createContainerdRuntime({
    endpoint: launched.endpoint,
    imageVolumesDir: imageVolumesIn(layout.containerd),
    clock,
  });
  try {
    const version = await runtime.runtime.version({ signal });
    await importAll(sources, { dataDir: layout.root, endpoint: launched.endpoint }, progress);
    return {
      runtime,
      simulated: false,
      hasCgroups: true,
      podNetwork: true,
      ...(network !== undefined && { network }),
      description: `${version.runtimeName} ${version.runtimeVersion}, private, in ${layout.containerd}`,
      proxy: {
        mode: 'auto',
        ...(network !== undefined && { bridge: network.settings.names.bridge }),
      },
      stop: () => launched.stop(),
    };
  } catch (error) {
    await runtime.close();
    await launched.stop();
    throw error;
  }
}

async function importAll(
  sources: readonly string[],
  config: ImagesConfig,
  progress: (text: string) => void,
): Promise<void> {
  if (sources.length === 0) return;
  await loadImages(config, sources, {
    onSource: (source) => progress(`importing ${basename(source)}`),
  });
}
