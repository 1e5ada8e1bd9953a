// `startCluster`: a whole cluster for a test or an example. In memory, with simulated nodes,
// without a port unless asked.

import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalAuthorizer } from '#apiserver/authorization/local-authorizer.ts';
import type { RuntimeConfig } from '#apiserver/runtime-config.ts';
import { LocalWebhooks } from '#apiserver/webhooks/client/index.ts';
import type { Client } from '#client/client.ts';
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
import { SeededRandom, systemRandom, type Random } from '#machinery/random.ts';
import type { PluginRegistration } from '#scheduler/framework/index.ts';
import {
  HistoryHash,
  recorder,
  SERVER_COMPONENT,
  Simulation,
  TEST_COMPONENT,
  type Faults,
} from '#simulation/index.ts';
import { createMemoryStorage, type MemoryStorage } from '#storage/memory/index.ts';
import { Cluster } from '../composition/cluster.ts';
import type { ClusterConfig } from '../composition/cluster-config.ts';
import { ADMIN_USER } from '../credentials/admin-user.ts';
import type { ClusterControls, ConsoleSettings } from '../console/console.ts';
import { ConsoleForks } from './console-forks.ts';
import type { DnsSettings } from '../addons/dns.ts';
import { type AccessSettings, accessOf } from '../access/index.ts';
import type { AccessOptions } from '../access/options.ts';
import { kubeconfigFor, writeKubeconfig, type KubeconfigEntry } from '../credentials/kubeconfig.ts';
import {
  defaultPodRange,
  dnsServiceAddress,
  nodeRanges,
  parsePodRange,
  parseServiceRanges,
} from '../flags/network-ranges.ts';
import { Pki } from '../credentials/pki.ts';
import {
  Awakening,
  type ClusterState,
  forkable,
  type Incarnation,
  LazyNode,
  notForkable,
  type Revive,
  WakingClock,
  watchNodeChanges,
} from './forks/index.ts';
import type { Forking } from './forks/forking.ts';
import { makeWebhooks } from './extensions/index.ts';
import type { Webhooks } from './extensions/types.ts';
import { makeHandle, type ClusterHandle } from './handle.ts';
import { makeInsight } from './insight/index.ts';
import type { Insight } from './insight/types.ts';
import {
  openRecording,
  readRecording,
  type Recording,
  type ReplayedRequest,
  replayRecording,
} from './recording.ts';
import { defaultSeed } from './seeds.ts';

export interface StartClusterOptions {
  /** The number of nodes. Their pods are simulated. Default: 1. */
  readonly nodes?: number;
  /** 'virtual': time moves only by `clock.advance`. Default: 'real'. */
  readonly clock?: 'real' | 'virtual';
  /**
   * The time at which a virtual clock starts, in milliseconds since the epoch. Default: the
   * beginning of 2026.
   */
  readonly startMs?: number;
  /**
   * On a virtual clock: 'lazy' computes heartbeats of nodes when the clock stops, and leaves out
   * periodic work that would find nothing new; 'eager' does all of it when it is due. Clients see
   * the same. Default: 'lazy'.
   */
  readonly heartbeats?: 'lazy' | 'eager';
  /**
   * 'lazy': a kubelet of a fork begins when something happens on its node; 'eager': all begin with
   * the fork's first write. Clients see the same. Default: 'lazy'.
   */
  readonly forks?: 'lazy' | 'eager';
  /**
   * The same seed gives the same names, UIDs and choices. Default with a virtual clock: the
   * environment variable COXSWAIN_SEED, or 'coxswain'; otherwise random.
   */
  readonly seed?: string | number;
  /**
   * Opens the port of the API server on 127.0.0.1, for kubectl and other clients. 0 picks a free
   * one. Default: no port.
   */
  readonly port?: number;
  /**
   * Serves the web console at /console/ of the port (docs/console.md); a virtual clock can be moved
   * there. Needs `port`. Default: false.
   */
  readonly console?: boolean;
  /** Default: '10.244.0.0/16', or a wider range for more than 256 nodes. */
  readonly podCidr?: string;
  /** One range, or one of each family with a comma between them. Default: '10.96.0.0/16'. */
  readonly serviceCidr?: string;
  /** A KubeSchedulerConfiguration (v1) as an object. Default: one profile with all defaults. */
  readonly schedulerConfiguration?: unknown;
  /**
   * Plugins that the configuration can name, beside the built-in ones
   * (docs/writing-a-scheduler-plugin.md).
   */
  readonly schedulerPlugins?: readonly PluginRegistration[];
  /**
   * Changes of the served API versions: `{ 'storagemigration.k8s.io/v1beta1': 'true' }`. Default:
   * stable ones are served.
   */
  readonly runtimeConfig?: RuntimeConfig;
  /**
   * The control of access: admission plugins, and the files of kube-apiserver (docs/access.md), which
   * are read once. Default: Node and RBAC authorization, and the default admission plugins.
   */
  readonly access?: AccessOptions;
  /**
   * The controllers to run: '*' all default ones, 'foo' this one, '-foo' not this one. Default:
   * all. Without 'node-lifecycle-controller', nodes keep the taint
   * node.kubernetes.io/not-ready, and only pods that tolerate it are scheduled. Without
   * 'serviceaccount-controller', a pod is rejected until its ServiceAccount exists.
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
  /**
   * So many instances of the controller manager and the scheduler run, of which one leads by a
   * Lease: 'controller-manager#1', 'controller-manager#2' … Default: 1, without election.
   */
  readonly controlPlanes?: number;
  /** Keeps a hash of all requests and watch events: `historyHash`. Default: false. */
  readonly hashHistory?: boolean;
  /**
   * With `hashHistory`: called with each line that is hashed. It shows where two histories part.
   * Default: nothing is called.
   */
  readonly onHistory?: (line: string) => void;
  /**
   * Records the requests of clients that come by the port or the agent in this file, which is
   * created. Watches, exec and port-forward are not recorded. The file has no credentials, but the
   * bodies of the requests. Forks record nothing.
   */
  readonly recordTo?: string;
  /**
   * Records everything from the start, for `events` and `history`. Default: nothing is recorded
   * until `events` is called.
   */
  readonly insight?: boolean;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
}

/** A cluster of `startCluster`. */
export interface EmbeddedCluster<C extends Clock = Clock>
  extends ClusterHandle<C>, Forking<EmbeddedCluster<VirtualClock>>, Insight {
  /** The seed; undefined if chance is not seeded. A fork has that of the first cluster. */
  readonly seed: string | number | undefined;
  /** The port of the cluster's DNS on 127.0.0.1; undefined without `dnsPort`. */
  readonly dnsPort: number | undefined;
  /** Faults, each in one line: docs/faults.md. */
  readonly faults: Faults;
  /**
   * Returns the SHA-256 of all requests and watch events until now, in their order. With a virtual
   * clock, the same seed and the same test it is the same each time, on every machine. Throws
   * TypeError without `hashHistory`.
   */
  historyHash(): string;
  /**
   * Sends the requests of a recording (`recordTo`) in their order, as their users, each at its time
   * after the beginning. Returns their status codes. Throws TypeError for a file that is none, and
   * without a virtual clock.
   */
  replay(recording: string): Promise<readonly ReplayedRequest[]>;
  /**
   * Asks the cluster's DNS: `resolve('web.default.svc.cluster.local', 'A')`. Rejects with TypeError
   * without `dns`.
   */
  resolve(name: string, type: DnsRecordType): Promise<Resolved>;
  /** Handlers of admission, conversion and authorization as plain functions. */
  readonly webhooks: Webhooks;
  /**
   * Returns a client whose requests are made by another user, who may do what RBAC permits:
   * `clientOf({ name: 'alice' })`.
   */
  clientOf(user: { readonly name: string; readonly groups?: readonly string[] }): Client;
  /**
   * Stops the kubelet of a node ('node-1', 'node-2', …), as a crash would: its containers keep
   * running. Idempotent.
   */
  stopNode(name: string): Promise<void>;
  /** Starts the kubelet of a stopped node again. It finds the containers that run. Idempotent. */
  startNode(name: string): Promise<void>;
}

/** A cluster with a virtual clock. */
export type ForkableCluster = EmbeddedCluster<VirtualClock>;

const NODE_CAPACITY = {
  cpu: '4',
  memory: '32Gi',
  'ephemeral-storage': '100Gi',
  pods: '110',
} as const;

export async function startCluster(
  options: StartClusterOptions & { readonly clock: 'virtual' },
): Promise<ForkableCluster>;
export async function startCluster(options?: StartClusterOptions): Promise<EmbeddedCluster>;
export async function startCluster(options: StartClusterOptions = {}): Promise<EmbeddedCluster> {
  const virtual = options.clock === 'virtual';
  const clock = virtual
    ? new WakingClock({
        start: options.startMs,
        lazy: options.heartbeats !== 'eager',
        sockets: options.port !== undefined || options.dnsPort !== undefined,
      })
    : systemClock;
  const seed = options.seed ?? (virtual ? defaultSeed() : undefined);
  const random = seed === undefined ? systemRandom : new SeededRandom(seed);
  if (options.console === true && options.port === undefined)
    throw new TypeError('`console` needs a `port`, such as 0');
  const pki = options.port === undefined ? undefined : await Pki.open({ clock, random });
  const logger = options.logger ?? silentLogger;
  const access =
    options.access === undefined ? undefined : await accessOf(options.access, { clock, logger });
  if (clock instanceof WakingClock && pki !== undefined)
    return openCluster(options, { clock, random, pki, access });
  const setup = prepare(options, { clock, random, pki, access });
  // Certificates take their time, but none of a virtual clock's.
  const cluster = await Cluster.make(setup.config);
  joinSimulation(setup, cluster);
  await setup.moving(cluster.begin());
  const admin = pki === undefined ? undefined : await adminKubeconfig(pki, cluster.url as string);
  const incarnation = embed(options, setup, cluster, admin);
  if (!(clock instanceof WakingClock)) return { ...incarnation.handle, ...notForkable('real') };
  if (options.dnsPort !== undefined) return { ...incarnation.handle, ...notForkable('port') };
  const revive: Revive = (state, own) => resume(options, access, state, own);
  return forkable({
    running: incarnation,
    clock,
    revive,
    firstRevision: setup.memory.freeze().revision,
  });
}

/**
 * Makes the cluster of a state on a clock that shows the time of the state. It begins when it is
 * needed.
 */
function resume(
  options: StartClusterOptions,
  access: AccessSettings | undefined,
  state: ClusterState,
  clock: WakingClock,
): Incarnation {
  const random = SeededRandom.fromState(state.random);
  const setup = prepare(options, { clock, random, pki: undefined, access, state });
  const awakening = new Awakening(clock, state.readOnlyAt, {
    beginServer: () => cluster.beginServer(),
    beginComponents: () => cluster.beginComponents(),
  });
  const cluster = Cluster.withoutPort({
    ...setup.config,
    resume: {
      beforeRequest: (method, path) => awakening.beforeRequest(method, path),
      stoppedNodes: state.stoppedNodes,
      ...(options.forks !== 'eager' && {
        sleepingNodes: {
          names: state.quietNodes,
          watch: (onChange, signal) => watchNodeChanges(setup.memory, onChange, signal),
        },
      }),
    },
  });
  joinSimulation(setup, cluster);
  if (state.readOnlyAt === undefined) clock.beforeMove = () => awakening.all();
  return embed(options, setup, cluster, undefined, awakening);
}

interface OpenOrigin extends Origin {
  readonly clock: WakingClock;
  readonly pki: Pki;
}

/**
 * Starts a cluster with a port and a virtual clock: a new one, or the copy of another one. A copy
 * runs at once, with a port of its own, because its clients come by that port at any time.
 */
async function openCluster(
  options: StartClusterOptions,
  origin: OpenOrigin,
): Promise<EmbeddedCluster<VirtualClock>> {
  const { clock, pki, access, state } = origin;
  const fork = async (): Promise<EmbeddedCluster<VirtualClock>> => {
    await clock.settle();
    const copied = incarnation.freeze();
    const own = new WakingClock({ start: copied.now, lazy: clock.lazy, sockets: true });
    return openCluster(
      { ...options, port: 0, ...(options.dnsPort !== undefined && { dnsPort: 0 }) },
      { clock: own, random: SeededRandom.fromState(copied.random), pki, access, state: copied },
    );
  };
  const forks = new ConsoleForks(fork);
  const setup = prepare(options, origin, (user) => forks.create(user));
  const cluster = await Cluster.make({
    ...setup.config,
    ...(state !== undefined && {
      resume: { beforeRequest: () => undefined, stoppedNodes: state.stoppedNodes },
    }),
  });
  joinSimulation(setup, cluster);
  await setup.moving(state === undefined ? cluster.begin() : beginAgain(cluster));
  const admin = await adminKubeconfig(pki, cluster.url as string);
  const incarnation = embed(options, setup, cluster, admin);
  const { handle } = incarnation;
  const stop = async (): Promise<void> => {
    await forks.stop();
    await handle.stop();
  };
  return { ...handle, clock, ...notForkable('port'), fork, stop };
}

async function beginAgain(cluster: Cluster): Promise<void> {
  try {
    await cluster.beginServer();
    await cluster.beginComponents();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** Makes the parts that are no components known to faults. */
function joinSimulation({ simulation }: Setup, cluster: Cluster): void {
  simulation.register(TEST_COMPONENT);
  simulation.register(SERVER_COMPONENT);
  simulation.useClient(cluster.client);
}

interface Origin {
  readonly clock: Clock;
  readonly random: Random;
  readonly pki: Pki | undefined;
  readonly access: AccessSettings | undefined;
  /** The state that the cluster goes on from. Absent: it is new. */
  readonly state?: ClusterState;
}

interface Setup extends Origin {
  readonly logger: Logger;
  readonly memory: MemoryStorage;
  readonly insight: Insight;
  closeInsight(): void;
  /** The parts of the API server that are functions of the program. */
  readonly inProcess: {
    readonly localWebhooks: LocalWebhooks;
    readonly localAuthorizer: LocalAuthorizer;
  };
  readonly simulation: Simulation;
  readonly history: HistoryHash | undefined;
  readonly recording: Recording | undefined;
  readonly nodes: readonly LazyNode[];
  /** The directory of the cluster's files, which is made when there is one. */
  readonly filesDir: string;
  readonly config: ClusterConfig;
  /** Lets virtual time pass while something waits for it and nothing else moves the clock. */
  moving<T>(promise: Promise<T>): Promise<T>;
}

/** Returns the settings of a console. Its sessions do not depend on the seed, or on virtual time. */
function consoleOf(clock: Clock, fork: ClusterControls['fork']): ConsoleSettings {
  const settings = { clock: systemClock, random: systemRandom };
  if (!(clock instanceof VirtualClock)) return settings;
  const controls = {
    ...(fork !== undefined && { fork }),
    now: () => clock.now(),
    advance: (ms: number) => clock.advance(ms),
    settle: () => clock.settle(),
  };
  return { ...settings, controls };
}

/** Makes everything that a cluster consists of, and starts nothing. `fork`: of the console. */
function prepare(
  options: StartClusterOptions,
  origin: Origin,
  fork?: ClusterControls['fork'],
): Setup {
  const { clock, random, pki, access, state } = origin;
  const logger = options.logger ?? silentLogger;
  const serviceCidr = options.serviceCidr ?? '10.96.0.0/16';
  // The name does not depend on the seed: two clusters may have the same one.
  const filesDir = join(tmpdir(), `coxswain-${process.pid}-${systemRandom.nameSuffix(10)}`);
  const nodeCount = options.nodes ?? 1;
  const podRange =
    options.podCidr === undefined
      ? defaultPodRange(nodeCount)
      : parsePodRange('podCidr', options.podCidr);
  const nodes = Array.from({ length: nodeCount }, (_, index): LazyNode => {
    const name = `node-${index + 1}`;
    const podCidrs = nodeRanges(podRange, index);
    const runtime = {
      clock,
      random: random.derive(`runtime/${name}`),
      podCidr: podCidrs[0],
      memoryLogs: true,
    };
    return new LazyNode(
      {
        name,
        podCidrs,
        addresses: [
          {
            type: 'InternalIP',
            address: `192.168.${Math.floor((index + 1) / 250)}.${((index + 1) % 250) + 1}`,
          },
          { type: 'Hostname', address: name },
        ],
        capacity: options.nodeCapacity ?? NODE_CAPACITY,
      },
      runtime,
      state?.nodes[index],
    );
  });
  const memory = createMemoryStorage({
    clock,
    logger,
    ...(state !== undefined && { state: state.storage }),
  });
  const {
    insight,
    wrapHandler,
    close: closeInsight,
  } = makeInsight({
    clock,
    storage: memory,
    record: options.insight ?? false,
  });
  const inProcess = {
    localWebhooks: state?.localWebhooks.copy() ?? new LocalWebhooks(),
    localAuthorizer: state?.localAuthorizer.copy() ?? new LocalAuthorizer(),
    wrapHandler,
  };
  const history =
    options.hashHistory === true ? new HistoryHash(clock, options.onHistory) : undefined;
  // A fork does not continue the file of the cluster that it comes from.
  const recording =
    options.recordTo === undefined || state !== undefined
      ? undefined
      : openRecording(options.recordTo);
  const observers = [
    ...(recording === undefined ? [] : [recorder(clock, (request) => recording.add(request))]),
    ...(history === undefined ? [] : [history.filter]),
  ];
  const simulation = new Simulation({
    observe: (next) => observers.reduce((handler, observer) => observer(handler), next),
    clock,
    random: random.derive('faults'),
    storage: memory,
    onError: (error) => logger.error('fault: a component was not started again', { err: error }),
  });
  const { controlPlanes = 1 } = options;
  if (!Number.isSafeInteger(controlPlanes) || controlPlanes < 1 || controlPlanes > 9)
    throw new RangeError(`controlPlanes must be from 1 to 9, not ${controlPlanes}`);
  const config: ClusterConfig = {
    clock,
    random,
    logger,
    storage: simulation.storage,
    simulation,
    inProcess,
    controlPlanes,
    leaderElect: controlPlanes > 1,
    ...(pki !== undefined && {
      pki,
      listen: { bindAddress: '127.0.0.1', port: options.port as number },
      ...(options.console === true && { console: consoleOf(clock, fork) }),
    }),
    nodes,
    podCidrs: podRange.cidr.split(','),
    serviceCidr,
    schedulerConfiguration: options.schedulerConfiguration,
    ...(options.runtimeConfig !== undefined && { runtimeConfig: options.runtimeConfig }),
    ...(access !== undefined && { access: { config: access.config } }),
    ...(options.controllers !== undefined && {
      controllers: selectControllers(options.controllers),
    }),
    schedulerPlugins: options.schedulerPlugins,
    ...(options.clusterDomain !== undefined && { clusterDomain: options.clusterDomain }),
    ...(options.dns === true && { dns: dnsSettings(options, serviceCidr) }),
  };
  const moving = <T>(promise: Promise<T>): Promise<T> =>
    clock instanceof VirtualClock ? advancing(clock, promise) : promise;
  return {
    ...origin,
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
    config,
    moving,
  };
}

interface EmbeddedIncarnation extends Incarnation {
  readonly handle: Omit<EmbeddedCluster, keyof Forking<never>> & {
    readonly [SIMULATION]: Simulation;
  };
}

/** Makes the handle of a cluster. */
function embed(
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

/**
 * Lets virtual time pass in small steps until the promise is settled: starting and stopping wait on
 * the clock too.
 */
async function advancing<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  const state = { settled: false };
  const settle = (): void => {
    state.settled = true;
  };
  promise.then(settle, settle);
  while (!state.settled) await clock.advance(10);
  return promise;
}
