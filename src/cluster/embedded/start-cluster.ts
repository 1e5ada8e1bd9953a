// `startCluster`: a whole cluster for a test or an example. In memory, with simulated nodes,
// without a port unless asked.

import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RuntimeConfig } from '#apiserver/runtime-config.ts';
import { selectControllers } from '#controllers/index.ts';
import { systemClock, VirtualClock, type Clock } from '#machinery/clock.ts';
import {
  DEFAULT_CLUSTER_DOMAIN,
  nodeSockets,
  parseClusterDomain,
  resolveWith,
} from '#dns/index.ts';
import type { DnsRecordType, Resolved } from '#dns/resolved.ts';
import { silentLogger, type Logger } from '#machinery/log.ts';
import { SeededRandom, systemRandom } from '#machinery/random.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import type { PluginRegistration } from '#scheduler/framework/index.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { ADMIN_USER, Cluster } from '../cluster.ts';
import type { DnsSettings } from '../cluster-dns.ts';
import { kubeconfigFor, writeKubeconfig, type KubeconfigEntry } from '../kubeconfig.ts';
import {
  defaultPodRange,
  dnsServiceAddress,
  nodeRanges,
  parsePodRange,
  parseServiceRanges,
} from '../network-ranges.ts';
import type { ClusterNode } from '../nodes.ts';
import { Pki } from '../pki.ts';
import { makeHandle, type ClusterHandle } from './handle.ts';

export interface StartClusterOptions {
  /** The number of nodes. Their pods are simulated. Default: 1. */
  readonly nodes?: number;
  /** 'virtual': time moves only by `clock.advance`. Default: 'real'. */
  readonly clock?: 'real' | 'virtual';
  /** The time at which a virtual clock starts, in milliseconds since the epoch. Default: the beginning of 2026. */
  readonly startMs?: number;
  /**
   * The same seed gives the same names, UIDs and choices. Default: 'coxswain' with a virtual clock,
   * otherwise random.
   */
  readonly seed?: string | number;
  /**
   * Opens the port of the API server on 127.0.0.1, for kubectl and other clients. 0 picks a free
   * one. Default: no port.
   */
  readonly port?: number;
  /** Default: '10.244.0.0/16', or a wider range for more than 256 nodes. */
  readonly podCidr?: string;
  /** One range, or one of each family with a comma between them. Default: '10.96.0.0/16'. */
  readonly serviceCidr?: string;
  /** A KubeSchedulerConfiguration (v1) as an object. Default: one profile with all defaults. */
  readonly schedulerConfiguration?: unknown;
  /** Plugins that the configuration can name, beside the built-in ones (docs/writing-a-scheduler-plugin.md). */
  readonly schedulerPlugins?: readonly PluginRegistration[];
  /**
   * Changes of the served API versions: `{ 'storagemigration.k8s.io/v1beta1': 'true' }`. Default:
   * stable ones are served.
   */
  readonly runtimeConfig?: RuntimeConfig;
  /**
   * The controllers to run: '*' all default ones, 'foo' this one, '-foo' not this one. Default:
   * all.
   */
  readonly controllers?: readonly string[];
  /**
   * Runs the cluster's DNS, with the Service `kube-dns`: `resolve` asks it. With `dnsPort` it also
   * listens on 127.0.0.1 (0: any port that is free). Names outside of the cluster are resolved only
   * by servers that the ConfigMap `cluster-dns` names. Default: none.
   */
  readonly dns?: boolean;
  readonly dnsPort?: number;
  /** Default: 'cluster.local'. */
  readonly clusterDomain?: string;
  /** The capacity of each node. Default: 4 CPUs, 32 GiB, 110 pods. */
  readonly nodeCapacity?: Readonly<Record<string, string>>;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
}

/** A cluster of `startCluster`. */
export interface EmbeddedCluster<C extends Clock = Clock> extends ClusterHandle<C> {
  /** The port of the cluster's DNS on 127.0.0.1; undefined without `dnsPort`. */
  readonly dnsPort: number | undefined;
  /** Asks the cluster's DNS: `resolve('web.default.svc.cluster.local', 'A')`. Rejects with TypeError without `dns`. */
  resolve(name: string, type: DnsRecordType): Promise<Resolved>;
  /** Stops the kubelet of a node ('node-1', 'node-2', …), as a crash would: its containers keep running. Idempotent. */
  stopNode(name: string): Promise<void>;
  /** Starts the kubelet of a stopped node again. It finds the containers that run. Idempotent. */
  startNode(name: string): Promise<void>;
}

const NODE_CAPACITY = {
  cpu: '4',
  memory: '32Gi',
  'ephemeral-storage': '100Gi',
  pods: '110',
} as const;

export async function startCluster(
  options: StartClusterOptions & { readonly clock: 'virtual' },
): Promise<EmbeddedCluster<VirtualClock>>;
export async function startCluster(options?: StartClusterOptions): Promise<EmbeddedCluster>;
export async function startCluster(options: StartClusterOptions = {}): Promise<EmbeddedCluster> {
  const virtual = options.clock === 'virtual';
  const clock = virtual ? new VirtualClock({ start: options.startMs }) : systemClock;
  const seed = options.seed ?? (virtual ? 'coxswain' : undefined);
  const random = seed === undefined ? systemRandom : new SeededRandom(seed);
  const logger = options.logger ?? silentLogger;
  const serviceCidr = options.serviceCidr ?? '10.96.0.0/16';
  // The directory is created when a container writes its first line. The name does not depend on
  // the seed: two clusters may have the same seed.
  const filesDir = join(tmpdir(), `coxswain-${process.pid}-${systemRandom.nameSuffix(10)}`);
  const nodeCount = options.nodes ?? 1;
  const podRange =
    options.podCidr === undefined
      ? defaultPodRange(nodeCount)
      : parsePodRange('podCidr', options.podCidr);
  const nodes = Array.from({ length: nodeCount }, (_, index): ClusterNode => {
    const name = `node-${index + 1}`;
    const podCidrs = nodeRanges(podRange, index);
    return {
      name,
      runtime: createSimulatedRuntime({
        clock,
        random: random.derive(`runtime/${name}`),
        podCidr: podCidrs[0],
      }),
      simulated: true,
      podCidrs,
      podLogsDir: join(filesDir, 'logs', name),
      addresses: [
        {
          type: 'InternalIP',
          address: `192.168.${Math.floor((index + 1) / 250)}.${((index + 1) % 250) + 1}`,
        },
        { type: 'Hostname', address: name },
      ],
      capacity: options.nodeCapacity ?? NODE_CAPACITY,
    };
  });
  const pki = options.port === undefined ? undefined : await Pki.open({ clock, random });
  // Certificates take their time, but none of a virtual clock's.
  const cluster = await Cluster.make({
    clock,
    random,
    logger,
    storage: createMemoryStorage({ clock, logger }),
    ...(pki !== undefined && {
      pki,
      listen: { bindAddress: '127.0.0.1', port: options.port as number },
    }),
    nodes,
    podCidrs: podRange.cidr.split(','),
    serviceCidr,
    schedulerConfiguration: options.schedulerConfiguration,
    ...(options.runtimeConfig !== undefined && { runtimeConfig: options.runtimeConfig }),
    ...(options.controllers !== undefined && {
      controllers: selectControllers(options.controllers),
    }),
    schedulerPlugins: options.schedulerPlugins,
    ...(options.clusterDomain !== undefined && { clusterDomain: options.clusterDomain }),
    ...(options.dns === true && { dns: dnsSettings(options, serviceCidr) }),
  });
  /** Lets virtual time pass while something waits for it and nothing else moves the clock. */
  const moving = <T>(promise: Promise<T>): Promise<T> =>
    virtual ? advancing(clock as VirtualClock, promise) : promise;
  await moving(cluster.begin());

  const access = pki === undefined ? undefined : await adminKubeconfig(pki, cluster.url as string);
  const kubeconfigPath = access && join(filesDir, 'kubeconfig');
  const removeFiles = (): void => rmSync(filesDir, { recursive: true, force: true });
  if (access !== undefined) {
    writeKubeconfig(kubeconfigPath as string, access);
    // The file has a key: a process that ends without stop() deletes it, too.
    process.once('exit', removeFiles);
  }
  const handle = makeHandle({
    client: cluster.client,
    clock,
    url: cluster.url,
    kubeconfig: access && kubeconfigFor(access),
    kubeconfigPath,
    random: random.derive('embedding'),
    logger,
    connect: () => cluster.connect(),
    moving,
    async stop() {
      try {
        await moving(cluster.stop());
      } finally {
        process.off('exit', removeFiles);
        await rm(filesDir, { recursive: true, force: true });
      }
    },
  });
  return {
    ...handle,
    dnsPort: cluster.dns?.addresses[0]?.port,
    resolve: async (name, type) => {
      if (cluster.dns === undefined)
        throw new TypeError('this cluster runs no DNS: start it with `dns: true`');
      return resolveWith(cluster.dns, name, type);
    },
    stopNode: (name) => moving(cluster.stopNode(name)),
    startNode: (name) => moving(cluster.startNode(name)),
  };
}

async function adminKubeconfig(pki: Pki, server: string): Promise<KubeconfigEntry> {
  const admin = await pki.sign({
    commonName: ADMIN_USER.name,
    organizations: ADMIN_USER.groups,
    usage: 'client',
  });
  return {
    name: 'coxswain',
    server,
    caCertificate: pki.caCertificate,
    clientCertificate: admin.cert,
    clientKey: admin.key,
  };
}

/** Throws TypeError for a range that has no tenth address, and for a domain that is none. */
function dnsSettings(
  { clusterDomain = DEFAULT_CLUSTER_DOMAIN, dnsPort }: StartClusterOptions,
  serviceCidr: string,
): DnsSettings {
  const serviceAddress = dnsServiceAddress(parseServiceRanges('serviceCidr', serviceCidr));
  if (serviceAddress === undefined)
    throw new TypeError(`serviceCidr ${serviceCidr} has no tenth address, which DNS needs`);
  parseClusterDomain(clusterDomain);
  return {
    clusterDomain,
    serviceAddress,
    reachable: true,
    listen: dnsPort === undefined ? [] : [{ address: '127.0.0.1', port: dnsPort }],
    allowedClients: ['127.0.0.0/8'],
    // Tests do not depend on the machine's name servers.
    sockets: { ...nodeSockets, readResolvConf: () => Promise.resolve('') },
  };
}

/** Lets virtual time pass in small steps until the promise is settled: starting and stopping wait on the clock too. */
async function advancing<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  const state = { settled: false };
  const settle = (): void => {
    state.settled = true;
  };
  promise.then(settle, settle);
  while (!state.settled) await clock.advance(10);
  return promise;
}
