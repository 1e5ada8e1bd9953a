// The embedding API: a whole cluster inside a program or a test.
//
//   const cluster = await startCluster({ nodes: 3 });
//   await cluster.apply(manifest);
//   await cluster.stop();

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { RecordType } from 'dns-packet';
import { join } from 'node:path';
import { parseYamlDocuments } from '#api/machinery/codec/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { parseApiVersion } from '#api/machinery/scheme.ts';
import type { RuntimeConfig } from '#apiserver/runtime-config.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { resourcesIn } from '#controllers/discovery.ts';
import { selectControllers } from '#controllers/index.ts';
import { systemClock, VirtualClock, type Clock } from '#machinery/clock.ts';
import { DEFAULT_CLUSTER_DOMAIN, nodeSockets, parseClusterDomain, resolveWith, type Resolved } from '#dns/index.ts';
import { silentLogger, type Logger } from '#machinery/log.ts';
import { SeededRandom, systemRandom } from '#machinery/random.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import type { PluginRegistration } from '#scheduler/framework/index.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { ADMIN_USER, Cluster } from './cluster.ts';
import type { ClusterNode } from './nodes.ts';
import { kubeconfigFor } from './kubeconfig.ts';
import { defaultPodRange, dnsServiceAddress, nodeRanges, parsePodRange, parseServiceRanges } from './network-ranges.ts';
import { Pki } from './pki.ts';
import type { DnsSettings } from './cluster-dns.ts';

/** For plugins of the scheduler. */
export * as scheduling from '#scheduler/framework/index.ts';

export interface StartClusterOptions {
  /** How many nodes; their pods only pretend to run. Default: 1. */
  readonly nodes?: number;
  /** 'virtual': time moves only by `clock.advance`. Default: 'real'. */
  readonly clock?: 'real' | 'virtual';
  /** What a virtual clock shows at first, in milliseconds since the epoch. Default: the beginning of 2026. */
  readonly startMs?: number;
  /** Makes names, UIDs and choices the same each time. Default with a virtual clock: 'coxswain'; otherwise chance. */
  readonly seed?: string | number;
  /** Opens the API server's port on 127.0.0.1 (0: any that is free), for kubectl and other clients. Default: none. */
  readonly port?: number;
  /** Default: '10.244.0.0/16', or a wider range for more than 256 nodes. */
  readonly podCidr?: string;
  /** One range, or one of each family with a comma between them. Default: '10.96.0.0/16'. */
  readonly serviceCidr?: string;
  /** A KubeSchedulerConfiguration (v1). Default: one profile with all defaults. */
  readonly schedulerConfiguration?: unknown;
  /** Plugins that it can name besides those in the tree (docs/writing-a-scheduler-plugin.md). */
  readonly schedulerPlugins?: readonly PluginRegistration[];
  /** What is served that is not by itself, and what is not: `{ 'storagemigration.k8s.io/v1beta1': 'true' }`. Default: stable versions. */
  readonly runtimeConfig?: RuntimeConfig;
  /** Which controllers run: '*' all that are on by default, 'foo' this one, '-foo' not this one. Default: all. */
  readonly controllers?: readonly string[];
  /**
   * Runs the cluster's DNS, with the Service `kube-dns`: `resolve` asks it. With `dnsPort` it also listens on 127.0.0.1 (0: any port that is
   * free). Names outside of the cluster are resolved only by servers that the ConfigMap `cluster-dns` names. Default: none.
   */
  readonly dns?: boolean;
  readonly dnsPort?: number;
  /** Default: 'cluster.local'. */
  readonly clusterDomain?: string;
  /** What each node has. Default: 4 CPUs, 32 GiB, 110 pods. */
  readonly nodeCapacity?: Readonly<Record<string, string>>;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
}

export interface EmbeddedCluster<C extends Clock = Clock> {
  /** As the administrator. */
  readonly client: Client;
  readonly clock: C;
  /** Where the API server listens; undefined without `port`. */
  readonly url: string | undefined;
  /** YAML, for clients outside of the process; undefined without `port`. */
  readonly kubeconfig: string | undefined;
  /**
   * Creates the objects of a manifest (YAML text of one or more documents, or objects), or merges them into those that are there.
   * Answers them as they are then. Throws StatusError.
   */
  apply(manifest: string | object | readonly object[]): Promise<readonly KubeObject[]>;
  /** The port of the cluster's DNS on 127.0.0.1; undefined without `dnsPort`. */
  readonly dnsPort: number | undefined;
  /** Asks the cluster's DNS: `resolve('web.default.svc.cluster.local', 'A')`. Throws TypeError without `dns`. */
  resolve(name: string, type: RecordType): Promise<Resolved>;
  /** The node ('node-1', 'node-2', …) goes silent: its kubelet stops without a word, and its containers go on. Idempotent. */
  stopNode(name: string): Promise<void>;
  /** The node comes back and finds what runs on it. Idempotent. */
  startNode(name: string): Promise<void>;
  /** Idempotent. */
  stop(): Promise<void>;
}

const NODE_CAPACITY = { cpu: '4', memory: '32Gi', 'ephemeral-storage': '100Gi', pods: '110' } as const;

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
  // Made when a container writes its first line; its name is nobody else's, whatever the seed.
  const logsDir = join(tmpdir(), `coxswain-${process.pid}-${systemRandom.nameSuffix(10)}`);
  const nodeCount = options.nodes ?? 1;
  const podRange = options.podCidr === undefined ? defaultPodRange(nodeCount) : parsePodRange('podCidr', options.podCidr);
  const nodes = Array.from({ length: nodeCount }, (_, index): ClusterNode => {
    const name = `node-${index + 1}`;
    const podCidrs = nodeRanges(podRange, index);
    return {
      name,
      runtime: createSimulatedRuntime({ clock, random: random.derive(`runtime/${name}`), podCidr: podCidrs[0] }),
      simulated: true,
      podCidrs,
      podLogsDir: join(logsDir, name),
      addresses: [
        { type: 'InternalIP', address: `192.168.${Math.floor((index + 1) / 250)}.${((index + 1) % 250) + 1}` },
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
    ...(pki !== undefined && { pki, listen: { bindAddress: '127.0.0.1', port: options.port as number } }),
    nodes,
    podCidrs: podRange.cidr.split(','),
    serviceCidr,
    schedulerConfiguration: options.schedulerConfiguration,
    ...(options.runtimeConfig !== undefined && { runtimeConfig: options.runtimeConfig }),
    ...(options.controllers !== undefined && { controllers: selectControllers(options.controllers) }),
    schedulerPlugins: options.schedulerPlugins,
    ...(options.clusterDomain !== undefined && { clusterDomain: options.clusterDomain }),
    ...(options.dns === true && { dns: dnsSettings(options, serviceCidr) }),
  });
  const removeLogs = (): Promise<void> => rm(logsDir, { recursive: true, force: true });
  /** What waits on the clock itself, when nobody else moves it. */
  const moving = <T>(promise: Promise<T>): Promise<T> => (virtual ? advancing(clock as VirtualClock, promise) : promise);
  await moving(cluster.begin());

  let kubeconfig: string | undefined;
  if (pki !== undefined) {
    const admin = await pki.sign({ commonName: ADMIN_USER.name, organizations: ADMIN_USER.groups, usage: 'client' });
    kubeconfig = kubeconfigFor({
      name: 'coxswain',
      server: cluster.url as string,
      caCertificate: pki.caCertificate,
      clientCertificate: admin.cert,
      clientKey: admin.key,
    });
  }
  const kinds = new ServedKinds(cluster.client);
  return {
    client: cluster.client,
    clock,
    url: cluster.url,
    kubeconfig,
    dnsPort: cluster.dns?.addresses[0]?.port,
    resolve: async (name, type) => {
      if (cluster.dns === undefined) throw new TypeError('this cluster runs no DNS: start it with `dns: true`');
      return resolveWith(cluster.dns, name, type);
    },
    apply: (manifest) => apply(cluster.client, kinds, manifest),
    stopNode: (name) => moving(cluster.stopNode(name)),
    startNode: (name) => moving(cluster.startNode(name)),
    async stop() {
      try {
        await moving(cluster.stop());
      } finally {
        await removeLogs();
      }
    },
  };
}

/** Throws TypeError for a range that has no tenth address, and for a domain that is none. */
function dnsSettings({ clusterDomain = DEFAULT_CLUSTER_DOMAIN, dnsPort }: StartClusterOptions, serviceCidr: string): DnsSettings {
  const serviceAddress = dnsServiceAddress(parseServiceRanges('serviceCidr', serviceCidr));
  if (serviceAddress === undefined) throw new TypeError(`serviceCidr ${serviceCidr} has no tenth address, which DNS needs`);
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

/** The resources of kinds, as the server's discovery names them. What was found once is kept. */
class ServedKinds {
  readonly #client: Client;
  readonly #found = new Map<string, ResourceType>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Throws TypeError for a kind that is not served. */
  async resourceOf({ apiVersion = '', kind = '' }: Partial<KubeObject>): Promise<ResourceType> {
    const id = `${apiVersion} ${kind}`;
    if (!this.#found.has(id)) await this.#discover(apiVersion);
    const type = this.#found.get(id);
    if (type !== undefined) return type;
    throw new TypeError(`no resource is known for apiVersion ${JSON.stringify(apiVersion)}, kind ${JSON.stringify(kind)}`);
  }

  async #discover(apiVersion: string): Promise<void> {
    const groupVersion = parseApiVersion(apiVersion);
    if (groupVersion === undefined) return;
    try {
      const { group, version } = groupVersion;
      for (const type of await resourcesIn(this.#client, group, version)) this.#found.set(`${apiVersion} ${type.kind}`, type);
    } catch (err) {
      if (!apierrors.isNotFound(err)) throw err;
    }
  }
}

async function apply(
  client: Client,
  kinds: ServedKinds,
  manifest: string | object | readonly object[],
): Promise<readonly KubeObject[]> {
  const parsed: unknown[] =
    typeof manifest === 'string' ? parseYamlDocuments(manifest) : Array.isArray(manifest) ? [...manifest] : [manifest];
  const applied: KubeObject[] = [];
  for (const object of parsed as KubeObject[]) {
    const type = await kinds.resourceOf(object);
    const all = client.resource<KubeObject>(type as never);
    const resource = type.namespaced ? all.namespace(object.metadata.namespace ?? 'default') : all;
    try {
      applied.push(await resource.create(object));
    } catch (err) {
      if (!apierrors.isAlreadyExists(err)) throw err;
      applied.push(await resource.patch(object.metadata.name, 'application/strategic-merge-patch+json', object));
    }
  }
  return applied;
}
