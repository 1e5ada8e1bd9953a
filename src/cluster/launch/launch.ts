// Starts the cluster of `cox up`: with a data directory, real containers where possible, a port,
// and a kubeconfig. Turns problems of the machine into errors that name a solution.

import { availableParallelism, networkInterfaces } from 'node:os';
import { join, resolve } from 'node:path';
import type { Duplex } from 'node:stream';
import { advertisedAddress } from '#apiserver/own-endpoints.ts';
import type { Client } from '#client/client.ts';
import { type RuntimeConfig, RuntimeConfigError } from '#apiserver/runtime-config.ts';
import { type Clock, systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import type { PodNetworkMode } from '#network/index.ts';
import { StorageError, type Storage } from '#storage/interface.ts';
import { Cluster } from '../composition/cluster.ts';
import type { ClusterConfig } from '../composition/cluster-config.ts';
import { claimDataDir, dataDirLayout, type DataDirLayout } from '../data-dir/data-dir.ts';
import type { UncaughtErrors } from '../faults/index.ts';
import type { KubeconfigEntry } from '../credentials/kubeconfig.ts';
import { isLoopback, makeKubeletPorts } from '../nodes/kubelet-ports.ts';
import { openPodAccess } from './pod-access.ts';
import type { IngressSettings } from '../addons/ingress.ts';
import type { CsiSettings } from '../addons/csi.ts';
import { checkCanMount } from '../csi/check-can-mount.ts';
import { checkClusterDomain, prepareDns } from '../addons/prepare-dns.ts';
import { parseTrustedProxies, prepareIngress } from '../addons/prepare-ingress.ts';
import { DEFAULT_CLUSTER_DOMAIN } from '#dns/index.ts';
import {
  checkApart,
  checkLoadBalancerPool,
  defaultPodRange,
  nodeRanges,
  parsePodRange,
  parseServiceRanges,
  type PodRange,
} from '../flags/network-ranges.ts';
import { Pki } from '../credentials/pki.ts';
import { removePolicies } from '../nodes/policy-table.ts';
import {
  type PreparedRuntime,
  prepareRuntime,
  type RuntimeChoice,
} from '../runtimes/prepare-runtime.ts';
import { Encryption, type EncryptionFlags } from '../stores/encryption.ts';
import { parseFlagYaml } from '../flags/flag-files.ts';
import { selectedControllers } from '../roles/controller-manager.ts';
import { type AuditFlags, auditOf } from '../audit/audit-flags.ts';
import { type OidcFlags, oidcOf } from '../access/oidc.ts';
import { type EtcdConfig, openStorage } from '../stores/open-storage.ts';
import {
  type ComponentsRunner,
  ComponentsThread,
  KeptThread,
  type Logging,
} from '../thread/index.ts';
import { UserError } from '../user-error.ts';
import { keepAdminKubeconfig } from '../credentials/admin-kubeconfig.ts';
import {
  keepsSimulation,
  type LaunchNodesConfig,
  machineName,
  nodesJournal,
  nodesOf,
} from './launch-nodes.ts';
import { type AccessFlags, accessOf } from '../access/index.ts';

export type { RuntimeChoice } from '../runtimes/prepare-runtime.ts';
export type { EtcdConfig, StoreChoice } from '../stores/open-storage.ts';

export interface LaunchConfig extends LaunchNodesConfig, EncryptionFlags {
  readonly dataDir: string;
  readonly bindAddress: string;
  /** Default: in the data directory. */
  readonly kubeconfig?: string;
  /** Settings of the store 'etcd'. */
  readonly etcd?: EtcdConfig;
  readonly runtime: RuntimeChoice;
  readonly containerRuntimeEndpoint?: string;
  /** A folder of images to import into containerd at the start. */
  readonly images?: string;
  /** Default: see defaultPodRange. */
  readonly podCidr?: string;
  /** See PodNetworkFlags. */
  readonly podNetwork?: PodNetworkMode;
  readonly vxlanId?: number;
  readonly vxlanPort?: number;
  /** One range, or one of each family with a comma between them. */
  readonly serviceCidr: string;
  /** The served groups, versions and resources. Default: stable versions. */
  readonly runtimeConfig?: RuntimeConfig;
  /** The controllers to run: '*', 'foo', '-foo'. Default: all. */
  readonly controllers?: readonly string[];
  /** Whether the cluster runs DNS. Default: with containerd, if its address and port are free. */
  readonly dns?: boolean;
  /** Default: 'cluster.local'. */
  readonly clusterDomain?: string;
  /** Whether the reference CSI driver runs for the node of this machine. Default: no. */
  readonly csiDriver?: boolean;
  /** Whether the web console is served. Default: false. */
  readonly console?: boolean;
  /** The OpenID Connect provider, by flags. Default: none. */
  readonly oidc?: OidcFlags;
  readonly audit?: AuditFlags;
  /** The control of access. Default: the API server's own defaults. */
  readonly access?: AccessFlags;
  /** The text of a KubeSchedulerConfiguration. */
  readonly schedulerConfig?: string;
  /** Whether missing programs may be installed. */
  readonly install: boolean;
  /** See ComponentsConfig. Absent: a component that ends resolves `failed`. */
  readonly faults?: UncaughtErrors;
  /** The settings of the logger, for loggers of other threads. Absent: other threads do not log. */
  readonly logging?: Logging;
  /** Processes that serve the API beside this one. Absent: there are none. */
  readonly apiWorkers?: ClusterConfig['apiWorkers'];
  /** Called with what is being done. Texts that begin with the same `step` replace each other. */
  readonly progress: (step: string, count?: string) => void;
  /** Aborts the start. */
  readonly signal: AbortSignal;
}

export interface LaunchedCluster {
  /** The administrator's client in this process. */
  readonly client: Client;
  /** Returns a connection to the API server, as the administrator, that speaks HTTP/1.1 without encryption. */
  connect(): Duplex;
  readonly url: string;
  readonly kubeconfigPath: string;
  readonly kubeconfigEntry: KubeconfigEntry;
  readonly runtimeDescription: string;
  readonly nodesDescription: string;
  /** Resolves if a component fails. */
  readonly failed: Promise<Error>;
  /** Idempotent. Containers go on running, for the next start. */
  stop(): Promise<void>;
}

/** Throws UserError for everything that a user can mend. Nothing is left running when it throws. */
export async function launch(config: LaunchConfig): Promise<LaunchedCluster> {
  const podRange =
    config.podCidr === undefined
      ? defaultPodRange(config.nodes)
      : parsePodRange('--pod-cidr', config.podCidr);
  checkApart(podRange, parseServiceRanges('--service-cidr', config.serviceCidr));
  if (config.loadBalancerPool !== undefined) {
    checkLoadBalancerPool(config.loadBalancerPool, [
      ...podRange.cidr.split(','),
      ...config.serviceCidr.split(','),
    ]);
  }
  nodeRanges(podRange, config.nodes - 1);
  if (config.clusterDomain !== undefined) checkClusterDomain(config.clusterDomain);
  const layout = dataDirLayout(config.dataDir);
  const release = await claimDataDir(layout);
  // The steps to undo, last first, if the start fails or when the cluster stops.
  const cleanup: (() => Promise<void> | void)[] = [release];
  const undo = async (): Promise<void> => {
    for (const step of cleanup.splice(0).reverse()) await step();
  };
  try {
    return await start(config, layout, podRange, cleanup, undo);
  } catch (error) {
    await undo();
    throw asUserError(error, config);
  }
}

async function start(
  config: LaunchConfig,
  layout: DataDirLayout,
  podRange: PodRange,
  cleanup: (() => Promise<void> | void)[],
  undo: () => Promise<void>,
): Promise<LaunchedCluster> {
  const { logger, progress, signal } = config;
  const clock = systemClock;
  const random = systemRandom;
  const schedulerConfiguration =
    config.schedulerConfig === undefined
      ? undefined
      : parseFlagYaml('--scheduler-config', config.schedulerConfig);
  const controllers =
    config.controllers === undefined ? undefined : selectedControllers(config.controllers);
  const encryption = await Encryption.of(config, { clock, random, logger, store: config.store });
  if (encryption !== undefined) cleanup.push(() => encryption.close());
  const oidc = config.oidc === undefined ? undefined : oidcOf(config.oidc, clock);
  const audit = await auditOf(config.audit ?? {}, { clock, logger, random });
  const access = await accessOf(config.access ?? {}, {
    clock,
    logger,
    ...(oidc !== undefined && { oidc: oidc.jwt }),
  });
  progress('preparing certificates and the store');
  const { faults } = config;
  const thread = deservesThread(config) ? makeThread(config, layout, clock) : undefined;
  if (thread !== undefined) cleanup.push(() => thread.stop());
  const store = new StoreFailure();
  const [pki, storage, runtime] = await prepare(
    config,
    layout,
    podRange,
    encryption,
    store,
    cleanup,
  );
  signal.throwIfAborted();
  const kubeletPorts = await makeKubeletPorts(pki, config.bindAddress, [machineName()]);
  if (config.networkPolicy === false) await removePolicies(layout);
  const dns = await prepareDns({
    wanted: config.dns,
    clusterDomain: config.clusterDomain ?? DEFAULT_CLUSTER_DOMAIN,
    serviceCidr: config.serviceCidr,
    podCidrs: podRange.cidr.split(','),
    podNetwork: runtime.podNetwork,
    nodeName: machineName(),
    ...(kubeletPorts.nodeAddress !== undefined && { nodeAddress: kubeletPorts.nodeAddress }),
    hasOtherMachines: !isLoopback(config.bindAddress),
    interfaceOf: layout.root,
    logger,
  });
  if (dns !== undefined) cleanup.push(() => dns.undo());
  const ingress = await ingressSettings(config);
  // Steps to undo when the cluster has stopped.
  const last: (() => Promise<void> | void)[] = [];
  if (dns !== undefined) last.push(() => dns.undo());
  if (encryption !== undefined) last.push(() => encryption.close());
  const starting = Cluster.start({
    clock,
    random,
    logger,
    storage,
    pki,
    progress: ({ step, done, total = 0 }) =>
      progress(step, total > 1 ? `${done} of ${total}` : undefined),
    listen: { bindAddress: config.bindAddress, port: config.securePort },
    ...(config.apiWorkers !== undefined && { apiWorkers: config.apiWorkers }),
    ...(audit !== undefined && { audit }),
    access,
    ...(encryption !== undefined && { encryption }),
    ...(config.console === true && {
      console: { clock, random, ...(oidc !== undefined && { oidc: oidc.client }) },
    }),
    kubeletPorts,
    ...(dns !== undefined && { dns: dns.settings }),
    ...(ingress !== undefined && { ingress }),
    ...(config.csiDriver === true && { csi: csiSettings(config, layout, runtime) }),
    ...(config.clusterDomain !== undefined && { clusterDomain: config.clusterDomain }),
    ...nodesOf(config, layout, podRange, runtime, thread, last),
    ...(faults !== undefined && { faults }),
    podCidrs: podRange.cidr.split(','),
    serviceCidr: config.serviceCidr,
    ...(config.loadBalancerPool !== undefined && { loadBalancerPool: config.loadBalancerPool }),
    schedulerConfiguration,
    ...(controllers !== undefined && { controllers }),
    ...(config.runtimeConfig !== undefined && { runtimeConfig: config.runtimeConfig }),
    leaderElect: config.store === 'etcd',
  });
  const cluster = await store.orFailure(starting);
  // The cluster closes the store, the runtimes and the thread itself.
  cleanup.splice(1);
  cleanup.push(
    ...last,
    () => runtime.stop(),
    () => cluster.stop(),
  );
  signal.throwIfAborted();

  const url = cluster.url as string;
  if (runtime.proxy !== undefined)
    await openToPods(config, podRange, Number(new URL(url).port), cleanup);
  const kubeconfigPath =
    config.kubeconfig === undefined ? layout.kubeconfig : resolve(config.kubeconfig);
  const renewing = new AbortController();
  cleanup.push(() => renewing.abort());
  const kubeconfigEntry = await keepAdminKubeconfig(
    { clock, logger, pki, server: url, path: kubeconfigPath },
    renewing.signal,
  );
  return {
    client: cluster.client,
    connect: () => cluster.connect(),
    url,
    kubeconfigPath,
    kubeconfigEntry,
    runtimeDescription: runtime.description,
    nodesDescription:
      config.nodes === 1
        ? '1'
        : runtime.simulated
          ? String(config.nodes)
          : `${config.nodes}, all but the first simulated`,
    failed: Promise.race([cluster.failed, store.failed]),
    stop: undo,
  };
}

/** The failure of the store, while the cluster starts and later. */
class StoreFailure {
  #error: Error | undefined;
  #report!: (error: Error) => void;
  /** Resolves if the store fails. */
  readonly failed = new Promise<Error>((resolveFailure) => (this.#report = resolveFailure));

  report(error: Error): void {
    this.#error = error;
    this.#report(error);
  }

  /**
   * Resolves with the started cluster. A start that cannot write may wait for ever. If the store has
   * failed, its error is the cause of whatever error ends the start.
   */
  async orFailure<T>(starting: Promise<T>): Promise<T> {
    const userError = (cause: Error): UserError =>
      new UserError(`the store failed: ${cause.message}`, { cause });
    try {
      return await Promise.race([
        starting,
        this.failed.then((cause) => Promise.reject(userError(cause))),
      ]);
    } catch (error) {
      throw this.#error === undefined ? error : userError(this.#error);
    }
  }
}

/** Opens certificates, store and runtime at the same time. */
function prepare(
  config: LaunchConfig,
  layout: DataDirLayout,
  podRange: PodRange,
  encryption: Encryption | undefined,
  failure: StoreFailure,
  cleanup: (() => Promise<void> | void)[],
): Promise<[Pki, Storage, PreparedRuntime]> {
  const { logger, progress, signal } = config;
  const clock = systemClock;
  const random = systemRandom;
  const preparing = {
    pki: Pki.open({ clock, random, dir: layout.pki }),
    storage: openStorage({
      choice: config.store,
      etcd: config.etcd,
      dir: layout.store,
      clock,
      random,
      logger,
      onFailure: (error) => failure.report(error),
      onProgress: (read, total) => progress('reading the store', `${read} of ${total}`),
    }).then((storage) => encryption?.around(storage, config.etcd) ?? storage),
    runtime: prepareRuntime({
      choice: config.runtime,
      ...(config.containerRuntimeEndpoint !== undefined && {
        endpoint: config.containerRuntimeEndpoint,
      }),
      install: config.install,
      ...(config.images !== undefined && { images: config.images }),
      podCidrs: nodeRanges(podRange, 0),
      podNetwork: {
        ...(config.podNetwork !== undefined && { podNetwork: config.podNetwork }),
        ...(config.vxlanId !== undefined && { vxlanId: config.vxlanId }),
        ...(config.vxlanPort !== undefined && { vxlanPort: config.vxlanPort }),
        clusterCidrs: podRange.cidr.split(','),
        serviceCidrs: config.serviceCidr.split(','),
      },
      ...(keepsSimulation(config) && {
        simulationJournal: join(layout.simulated, 'machine.jsonl'),
      }),
      layout,
      clock,
      random,
      logger,
      progress,
      signal,
    }),
  };
  return settleAll(preparing, cleanup);
}

/**
 * All of what is being prepared, or the first failure; what succeeded is then put on the list of
 * what has to be undone.
 */
async function settleAll(
  preparing: { pki: Promise<Pki>; storage: Promise<Storage>; runtime: Promise<PreparedRuntime> },
  cleanup: (() => Promise<void> | void)[],
): Promise<[Pki, Storage, PreparedRuntime]> {
  const [pki, storage, runtime] = await Promise.allSettled([
    preparing.pki,
    preparing.storage,
    preparing.runtime,
  ]);
  if (storage.status === 'fulfilled') cleanup.push(() => storage.value.close());
  if (runtime.status === 'fulfilled') {
    cleanup.push(async () => {
      await runtime.value.runtime.close();
      await runtime.value.stop();
    });
  }
  for (const result of [pki, storage, runtime])
    if (result.status === 'rejected') throw result.reason;
  return [
    (pki as PromiseFulfilledResult<Pki>).value,
    (storage as PromiseFulfilledResult<Storage>).value,
    (runtime as PromiseFulfilledResult<PreparedRuntime>).value,
  ];
}

function makeThread(config: LaunchConfig, layout: DataDirLayout, clock: Clock): ComponentsRunner {
  const { logging, logger, faults } = config;
  const journal = nodesJournal(config, layout);
  const settings = { ...(logging && { logging }), ...(journal !== undefined && { journal }) };
  if (faults === undefined) return new ComponentsThread(settings);
  const make = (): ComponentsThread =>
    new ComponentsThread({ ...settings, onUncaught: (component) => faults.count(component) });
  return new KeptThread({ clock, logger, faults, make });
}

/**
 * Returns whether controllers, scheduler and simulated nodes get a thread of their own. It costs 40
 * MB and a third of a second at the start, which a machine alone with its pods (110 at most) never
 * regains; on one core it gains nothing.
 */
function deservesThread({ nodes }: LaunchConfig): boolean {
  return nodes > 1 && availableParallelism() > 1;
}

/** Throws UserError if the driver cannot work on this machine. */
function csiSettings(
  { rootDir }: LaunchConfig,
  layout: DataDirLayout,
  { simulated }: PreparedRuntime,
): CsiSettings {
  if (simulated)
    throw new UserError('--csi-driver needs containers: simulated nodes have no files');
  checkCanMount('--csi-driver');
  return {
    nodeName: machineName(),
    kubeletDir: rootDir === undefined ? layout.kubelet : resolve(rootDir),
    directory: layout.csi,
  };
}

/** See PodAccess. A cluster without it works, but its pods do not reach the API server. */
async function openToPods(
  { bindAddress, logger }: LaunchConfig,
  podRange: PodRange,
  port: number,
  cleanup: (() => Promise<void> | void)[],
): Promise<void> {
  const address = advertisedAddress(bindAddress);
  if (!isLoopback(bindAddress) || address === undefined) return;
  try {
    const access = await openPodAccess({
      address,
      port,
      server: { host: bindAddress, port },
      podCidrs: podRange.cidr.split(','),
      ownAddresses: () =>
        Object.values(networkInterfaces()).flatMap((list) =>
          (list ?? []).map((entry) => entry.address),
        ),
    });
    cleanup.push(() => access.close());
  } catch (error) {
    logger.warn('pods cannot reach the API server: its port is in use at the address of the node', {
      address,
      port,
      err: error,
    });
  }
}

async function ingressSettings({ ingress }: LaunchConfig): Promise<IngressSettings | undefined> {
  if (ingress === undefined) return undefined;
  return {
    facts: await prepareIngress(ingress, INGRESS_FLAGS),
    trustedProxies: parseTrustedProxies(INGRESS_FLAGS.trustedProxies, ingress.trustedProxies),
    accessLog: ingress.accessLog ?? false,
  };
}

const INGRESS_FLAGS = {
  addresses: '--ingress-address',
  httpPort: '--ingress-http-port',
  httpsPort: '--ingress-https-port',
  gatewayAddresses: '--gateway-addresses',
  trustedProxies: '--ingress-trusted-proxies',
};

/**
 * Returns the error with a text that names a solution, if the error comes from the machine rather
 * than from a bug.
 */
function asUserError(err: unknown, config: LaunchConfig): unknown {
  if (err instanceof UserError || config.signal.aborted) return err;
  if (err instanceof StorageError)
    return new UserError(`cannot open the store: ${err.message}`, { cause: err });
  if (err instanceof RuntimeConfigError)
    return new UserError(`--runtime-config: ${err.message}`, { cause: err });
  const { code } = err as NodeJS.ErrnoException;
  switch (code) {
    case 'EADDRINUSE':
      return new UserError(
        `port ${config.securePort} on ${config.bindAddress} is in use. Choose another with ` +
          '--secure-port (0 picks a free one), or stop what listens there.',
        { cause: err },
      );
    case 'EADDRNOTAVAIL':
      return new UserError(`${config.bindAddress} is no address of this machine: see --bind`, {
        cause: err,
      });
    case 'EACCES':
    case 'ENOSPC':
    case 'EROFS':
      return new UserError(`${(err as Error).message}: see --data-dir`, { cause: err });
    default:
      return (err as Error).name === 'ConfigurationError'
        ? new UserError(`--scheduler-config: ${(err as Error).message}`, { cause: err })
        : err;
  }
}
