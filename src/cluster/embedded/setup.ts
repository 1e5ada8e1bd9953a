// Makes the parts of a cluster of `startCluster` from its options: the storage, the nodes, the faults,
// and the configuration. Nothing is started.

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalAuthorizer } from '#apiserver/authorization/local-authorizer.ts';
import { LocalWebhooks } from '#apiserver/webhooks/client/index.ts';
import { selectControllers } from '#controllers/index.ts';
import { systemClock, VirtualClock, type Clock } from '#machinery/clock.ts';
import { DEFAULT_CLUSTER_DOMAIN, nodeSockets, parseClusterDomain } from '#dns/index.ts';
import { silentLogger, type Logger } from '#machinery/log.ts';
import { systemRandom, type Random } from '#machinery/random.ts';
import { HistoryHash, recorder, Simulation } from '#simulation/index.ts';
import { createMemoryStorage, type MemoryStorage } from '#storage/memory/index.ts';
import type { AccessSettings } from '../access/index.ts';
import type { DnsSettings } from '../addons/dns.ts';
import type { ClusterConfig } from '../composition/cluster-config.ts';
import type { ClusterControls, ConsoleSettings } from '../console/console.ts';
import type { Pki } from '../credentials/pki.ts';
import {
  defaultPodRange,
  dnsServiceAddress,
  nodeRanges,
  parsePodRange,
  parseServiceRanges,
  type PodRange,
} from '../flags/network-ranges.ts';
import type { StartClusterOptions } from './embedded-cluster.ts';
import { type ClusterState, LazyNode } from './forks/index.ts';
import { makeInsight } from './insight/index.ts';
import type { Insight } from './insight/types.ts';
import { openRecording, type Recording } from './recording.ts';

const NODE_CAPACITY = {
  cpu: '4',
  memory: '32Gi',
  'ephemeral-storage': '100Gi',
  pods: '110',
} as const;

/** The sources of a cluster. */
export interface Origin {
  readonly clock: Clock;
  readonly random: Random;
  readonly pki: Pki | undefined;
  readonly access: AccessSettings | undefined;
  /** The state that the cluster goes on from. Absent: it is new. */
  readonly state?: ClusterState;
}

/** Everything that a cluster consists of, before it begins. */
export interface Setup extends Origin {
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

/** Makes a node. `index`: from 0; it determines the name and the addresses. */
function makeNode(
  index: number,
  podRange: PodRange,
  { nodeCapacity = NODE_CAPACITY }: StartClusterOptions,
  { clock, random, state }: Origin,
): LazyNode {
  const name = `node-${index + 1}`;
  const podCidrs = nodeRanges(podRange, index);
  const number = index + 1;
  const address = `192.168.${Math.floor(number / 250)}.${(number % 250) + 1}`;
  return new LazyNode(
    {
      name,
      podCidrs,
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: name },
      ],
      capacity: nodeCapacity,
    },
    {
      clock,
      random: random.derive(`runtime/${name}`),
      podCidr: podCidrs[0],
      memoryLogs: true,
    },
    state?.nodes[index],
  );
}

/** Makes everything that a cluster consists of, and starts nothing. `fork`: of the console. */
export function prepare(
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
  const nodes = Array.from({ length: nodeCount }, (_, index) =>
    makeNode(index, podRange, options, origin),
  );
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
