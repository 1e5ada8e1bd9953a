// Composes a kubelet: makes its parts from the configuration, each after the parts that it uses.
// Two parts depend on later ones, and get them at the end: the pod workers, which call the syncer,
// and the PLEG, which notifies the pod handler.

import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import {
  configMaps,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
  services,
} from '#api/groups/core/v1/index.ts';
import { runtimeClasses } from '#api/groups/node/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { SharedInformerFactory, type SharedInformer } from '#client/informers/index.ts';
import type { Runtime } from '#cri/index.ts';
import { readUntrusted } from '#machinery/files/untrusted.ts';
import type { Logger } from '#machinery/log.ts';
import { versionInfo } from '#machinery/version-info.ts';
import { ActivePods } from './active-pods.ts';
import { selectsNode } from './admission.ts';
import { podsLimit } from './allocatable.ts';
import { Allocations } from './allocations.ts';
import { type KubeletConfig, kubeletTopic, NODE_CHECK_MS } from './config.ts';
import { kubeletConfiguration } from './configz.ts';
import { DurableCheckpointFile } from './checkpoints/checkpoint-file.ts';
import { DEVICE_CHECKPOINT } from './devices/checkpoint.ts';
import { type DeviceHooks, DeviceManager } from './devices/device-manager.ts';
import type { RegistrationConfig } from './devices/registration.ts';
import { makeDra } from './dra.ts';
import { Csi } from './csi.ts';
import { DesiredPods } from './desired-pods.ts';
import { CgroupReader } from './cgroups/reader.ts';
import { parseResolvConf, type DnsSettings } from './dns.ts';
import type { DownwardContext } from './env/downward.ts';
import { ServiceVariables } from './env/service-variables.ts';
import { PodEvents } from './events.ts';
import { DEFAULT_EVICTION, SIMULATED_HARD } from './eviction/settings.ts';
import { watchSystemOoms } from './eviction/system-oom.ts';
import { parseThresholds } from './eviction/thresholds.ts';
import { GarbageCollector } from './garbage.ts';
import { HookRunner } from './handlers/hooks.ts';
import { Housekeeping } from './housekeeping.ts';
import { ImageManager } from './images/image-manager.ts';
import { DEFAULT_IMAGE_GC } from './images/image-records.ts';
import { Leftovers } from './leftovers.ts';
import { readTerminationMessage } from './logs/termination-message.ts';
import type { KubeletGauges, KubeletMetrics } from './metrics/kubelet-metrics.ts';
import { MirrorPods } from './mirror-pods.ts';
import { MachineDetails, SimulatedDetails } from './node/node-details.ts';
import { NodeFactsSource } from './node/node-facts.ts';
import { NodeEvents } from './node/node-events.ts';
import { NodeReporter } from './node/node-reporter.ts';
import { PodCidrUpdater } from './node/pod-cidr.ts';
import { linuxCgroups } from './node/linux-cgroups.ts';
import { KernelLog } from './node/kernel-log.ts';
import { LinuxSystem } from './node/linux-system.ts';
import { MachineUsage, SimulatedUsage } from './node/node-usage.ts';
import { readUsage } from './node/usage.ts';
import { UsageRates } from './node/usage-rates.ts';
import { LinuxCgroups } from './node/writable-cgroups.ts';
import { ObjectTracker } from './objects.ts';
import { NodeDevices } from './node-devices.ts';
import {
  devicePluginsDir,
  localVolumesPath,
  pluginsRegistryDir,
  podResourcesSocket,
} from './paths.ts';
import { Pleg } from './pleg.ts';
import { pluginDirectory, PluginManager, registrationAt } from './plugins/index.ts';
import { PodCgroups } from './pod-cgroups/pod-cgroups.ts';
import { sharesOf } from './pod-cgroups/settings.ts';
import { servePodResources } from './pod-resources/server.ts';
import { PodHandler } from './pod-handler.ts';
import { KubeletPodSyncer } from './pod-syncer.ts';
import { PodWorkers } from './pod-workers.ts';
import { ApiPodWriter } from './pod-writer.ts';
import { findContainer, isRunning, type RuntimePodStatus } from './pod/pod-status.ts';
import { amountOf, amounts } from './pod/resources.ts';
import { makePressure, type Pressure, removeEndedPod } from './pressure.ts';
import { ProbeManager } from './probes/probe-manager.ts';
import { ProbeRunner } from './probes/probe-runner.ts';
import { ContainerKiller } from './runtime/kill.ts';
import { RuntimeManager } from './runtime/runtime-manager.ts';
import { ApiAccess } from './server/access.ts';
import { runningPod } from './server/running-pods.ts';
import { KubeletServer } from './server/server.ts';
import { isStaticPod, StaticPods } from './static-pods.ts';
import { StatusManager } from './status/status-manager.ts';
import { SysctlAllowlist } from './sysctls.ts';
import { TokenManager } from './tokens.ts';
import { podUid, type Node, type Pod, type ResourceList } from './types.ts';
import { LocalVolumeError, removeLocalVolume } from './volumes/local-volumes.ts';
import type { ClaimSource } from './volumes/claims.ts';
import { noMounter, systemMounter, type Mounter } from './volumes/mounter.ts';
import { VolumeManager } from './volumes/volume-manager.ts';
import { PodFilesReader } from './volume-stats/pod-files-reader.ts';
import { watchObject } from './watch-object.ts';

const DEFAULT_PORT = 10_250;
const DEFAULT_KUBELET_VERSION = 'v1.36.3';
/** The annotation of the Node that names the directory of the built-in provisioner's volumes. */
const LOCAL_VOLUMES = 'coxswain.dev/local-volumes';
const USER_AGENT = 'kube-probe/1.36';
const RETRY_MS = 10_000;
const MAX_NODE_FILE_BYTES = 1024 * 1024;
const RUNTIME_DEADLINE_MS = 30_000;

/** The dependencies that exist before the first call of the runtime. */
export interface Base {
  readonly config: KubeletConfig;
  /** The runtime, wrapped with deadlines and metrics. */
  readonly runtime: Runtime;
  readonly metrics: KubeletMetrics;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
  /** Aborts when the kubelet stops. */
  readonly signal: AbortSignal;
}

/** The parts of a kubelet that are started, stopped or queried. */
export interface Parts {
  readonly settings: Settings;
  /** Reads the devices of pods from the last run, and lets device plugins register. */
  readonly startDevices: () => Promise<void>;
  readonly informers: SharedInformerFactory;
  readonly podInformer: SharedInformer<Pod>;
  readonly objects: ObjectTracker;
  readonly probes: ProbeManager;
  readonly pleg: Pleg;
  readonly statuses: StatusManager;
  readonly workers: PodWorkers;
  readonly pods: PodHandler;
  readonly housekeeping: Housekeeping;
  readonly staticPods: StaticPods | undefined;
  readonly server: KubeletServer;
  readonly reporter: NodeReporter;
  /** Absent: the node's resources are not observed. */
  readonly pressure: Pressure | undefined;
  /** Reports kills for a lack of memory of the machine until the signal aborts. */
  readonly watchOoms: (signal: AbortSignal) => Promise<void>;
  /** Absent: pods have no cgroups of their own. */
  readonly cgroups: PodCgroups | undefined;
  readonly csi: Csi;
  /** Undefined on simulated nodes. */
  readonly plugins: PluginManager | undefined;
}

/**
 * Makes all parts, without starting them. Rejects if the runtime does not respond or the root
 * directory is unusable.
 */
export async function makeParts(base: Base): Promise<Parts> {
  const { config, metrics, recorder, logger, signal } = base;
  const { client, clock } = config;
  const { runtime, images } = base.runtime;
  const common = { clock, random: config.random, logger };
  const events = new PodEvents(recorder);
  const settings = await readSettings(config, base.runtime, signal);
  const { hostFiles, podNetwork, rootDir, podLogsDir, localVolumesDir, mounter } = settings;

  // Observation: the runtime, the node, the API.
  const pleg = new Pleg({
    runtime,
    topic: kubeletTopic(config.nodeName),
    clock,
    logger,
    readTerminationMessage: hostFiles ? readTerminationMessage : () => Promise.resolve(''),
    onRelist: (seconds) => metrics.relisted(seconds),
    ...(config.relistMs !== undefined ? { relistMs: config.relistMs } : {}),
  });
  const dra = makeDra(base, settings);
  const devices = new NodeDevices({
    ...(hostFiles && { plugins: makeDevicePlugins(base, rootDir) }),
    claims: dra.manager,
    logger,
    signal,
  });
  const system = config.nodeSystem ?? (hostFiles ? new LinuxSystem() : undefined);
  const eviction = {
    ...DEFAULT_EVICTION,
    ...(system === undefined && { hard: SIMULATED_HARD }),
    ...config.eviction,
  };
  const thresholds = parseThresholds(eviction);
  // Set below: what the node is short of depends on its pods.
  let pressure: Pressure | undefined;
  const node = await NodeFactsSource.read({
    kubelet: config,
    runtime: base.runtime,
    clock,
    logger,
    signal,
    rootDir,
    runtimeVersion: settings.runtimeVersion,
    devices: () => devices.facts(),
    thresholds,
    pressure: () => pressure?.evictions.conditions ?? [],
    lastRelist: () => pleg.lastRelist,
  });
  const memoryCapacity = amountOf('memory', node.capacity['memory'] ?? '0');
  const downward = (): DownwardContext => ({
    podIPs: [],
    hostIPs: node.hostIPs,
    nodeAllocatable: node.allocatable,
  });
  const informers = new SharedInformerFactory({ ...common, client });
  const podInformer = informers.informerFor(pods, {
    fieldSelector: `spec.nodeName=${config.nodeName}`,
  });
  const serviceVariables = makeServiceVariables(informers);
  const nodeInformer = informers.informerFor(nodes, {
    fieldSelector: `metadata.name=${config.nodeName}`,
  });
  const nodeObject = (): Node | undefined => nodeInformer.lister.get('', config.nodeName);

  // The workers and their wake-ups.
  const desired = new DesiredPods();
  const workers = new PodWorkers({
    ...common,
    metrics,
    isStopped: (pod) => {
      const status = pleg.get(podUid(pod));
      return status === undefined || !isRunning(status);
    },
  });
  const tokens = new TokenManager(client, clock);
  const claims: ClaimSource = {
    claim: (namespace, name) =>
      client.resource(persistentVolumeClaims).namespace(namespace).get(name, { signal }),
    volume: (name) => client.resource(persistentVolumes).get(name, { signal }),
  };
  let reporter: NodeReporter | undefined;
  const csi = new Csi({
    client,
    clock,
    logger,
    signal,
    nodeName: config.nodeName,
    rootDir,
    mounter,
    hostFiles,
    informers,
    node: nodeObject,
    claims,
    tokens,
    events: recorder,
    expansionCheckMs: config.expansionCheckMs ?? 30_000,
    onVolumesInUse: () => reporter?.nudge(),
  });
  const plugins = hostFiles
    ? new PluginManager({
        directory: pluginDirectory(pluginsRegistryDir(rootDir), logger),
        open: (path) => registrationAt(path, clock),
        handlers: {
          CSIPlugin: csi.drivers,
          ...(dra.drivers !== undefined && { DRAPlugin: dra.drivers }),
        },
        clock,
        logger,
      })
    : undefined;
  const volumes = new VolumeManager({
    rootDir,
    clock,
    logger,
    mounter,
    hostFiles,
    localVolumesDir,
    claims,
    csi: csi.volumes,
    isReachable: ({ spec }) => {
      const self = nodeObject();
      const required = spec.nodeAffinity?.required;
      return self === undefined || required === undefined || selectsNode(required, self);
    },
  });
  const objects = new ObjectTracker({
    clock,
    watch: (kind, namespace, name, onChange) =>
      watchObject(
        { ...common, client },
        kind === 'secret' ? secrets : configMaps,
        namespace,
        name,
        onChange,
      ),
    onChange: (uids) => {
      for (const uid of uids) {
        volumes.markStale(uid);
        workers.sync(uid);
      }
    },
  });
  const probes = new ProbeManager({
    ...common,
    events,
    runner: new ProbeRunner({ runtime, clock, userAgent: USER_AGENT, podNetwork }),
    onChange: (uid) => {
      workers.sync(uid);
      syncer.verdictChanged(uid);
    },
  });

  // Status reports and inputs of pods.
  const mirrors =
    config.staticPodPath === undefined
      ? undefined
      : new MirrorPods({
          client,
          logger,
          nodeName: config.nodeName,
          nodeUid: async () =>
            (nodeObject() ?? (await client.resource(nodes).get(config.nodeName, { signal })))
              .metadata.uid,
        });
  const statuses = new StatusManager({
    clock,
    logger,
    couldHaveRunningContainers: (uid) => {
      const status = pleg.get(uid);
      return workers.couldHaveRunningContainers(uid) ?? (status !== undefined && isRunning(status));
    },
    writer: new ApiPodWriter(client, mirrors),
  });
  const active = new ActivePods(desired, workers, statuses);
  const allocations = new Allocations({
    allocatable: () => node.allocatable,
    active: () => active.list(),
  });

  const nodeEvents = new NodeEvents(recorder, config.nodeName);
  const cgroups = await makeCgroups(config, node.capacity, active, logger);
  if (cgroups !== undefined)
    nodeEvents.normal('NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');

  // Actions on the runtime.
  const garbage = new GarbageCollector({ runtime, logger, rootDir, podLogsDir, hostFiles });
  const leftovers = new Leftovers({ garbage, pleg, logger, signal });
  const hooks = new HookRunner({ runtime, clock, userAgent: USER_AGENT, podNetwork });
  const killer = new ContainerKiller({ runtime, clock, logger, events, hooks });
  const runtimeManager = new RuntimeManager({
    ...common,
    runtime,
    images,
    imageManager: new ImageManager({ images, clock, events }),
    killer,
    hooks,
    probes,
    events,
    objects,
    services: serviceVariables,
    downward,
    mounter,
    prepareResources: (pod, until) => devices.prepare(pod, until),
    containerDevices: (pod, container, until) => devices.containerDevices(pod, container, until),
    dns: settings.dns,
    nodeHosts: () => readNodeFile('/etc/hosts'),
    rootDir,
    podLogsDir,
    hostFiles,
    memoryCapacity,
    cgroupParent: (pod) => cgroups?.pathOf(pod) ?? '',
    metrics,
    runtimeHandler: async (name) =>
      (await client.resource(runtimeClasses).get(name, { signal })).handler,
    onSandbox: (sandbox) => pleg.noteSandbox(sandbox),
    networkReadiness: config.networkReadiness,
    restartBackoffMs: config.restartBackoffMs ?? 10_000,
    maxRestartBackoffMs: config.maxRestartBackoffMs ?? 300_000,
    retryMs: RETRY_MS,
  });

  // The lifecycle of pods.
  const syncer = new KubeletPodSyncer({
    metrics,
    clock,
    logger,
    events,
    pleg,
    statuses,
    probes,
    runtimeManager,
    killer,
    volumes,
    objects,
    allocations,
    devices,
    cgroups,
    // Without files no container can read a token, so no token is requested or renewed.
    token: (request) => (hostFiles ? tokens.get(request) : Promise.resolve('')),
    downward,
    runtimeName: () => settings.runtimeName,
    networkProblem: () => node.networkProblem,
    collectGarbage: (status) => garbage.collect(status),
  });
  pressure =
    system &&
    makePressure({
      system,
      eviction,
      thresholds,
      imageGc: { ...DEFAULT_IMAGE_GC, ...config.imageGc },
      runtime,
      images,
      clock,
      logger,
      rootDir,
      podLogsDir,
      metrics,
      events,
      nodeEvents,
      active,
      workers,
      pleg,
      garbage,
      cgroups,
      onConditions: () => reporter?.nudge(),
    });
  const sysctls = new SysctlAllowlist(
    node.machine.kernelVersion,
    config.allowedUnsafeSysctls ?? [],
  );
  const handler = new PodHandler({
    rejects: (pod) => pressure?.evictions.admit(pod) ?? sysctls.admit(pod),
    signal,
    removeEnded: (uid) => void removeEndedPod(uid, { pleg, garbage, logger, signal }),
    clock,
    logger,
    metrics,
    events,
    allocatable: node.allocatable,
    node: nodeObject,
    desired,
    active,
    allocations,
    workers,
    statuses,
    pleg,
    volumes,
    tokens,
    runtimeManager,
    leftovers,
    devices,
  });
  workers.start(syncer, (pod) => handler.podFinished(pod));
  pleg.listen((uid) => handler.runtimeChanged(uid));
  const housekeeping = new Housekeeping({
    clock,
    logger,
    runtime,
    desired,
    workers,
    pods: handler,
    pleg,
    garbage,
    leftovers,
    volumes,
    csi,
    tokens,
    hostFiles,
    periodMs: config.housekeepingMs ?? 10_000,
    topic: kubeletTopic(config.nodeName),
    logMaxBytes: config.containerLogMaxBytes ?? 10 * 1024 * 1024,
    logMaxFiles: config.containerLogMaxFiles ?? 5,
  });
  const staticPods =
    config.staticPodPath === undefined || mirrors === undefined
      ? undefined
      : new StaticPods({
          clock,
          logger,
          mirrors,
          nodeName: config.nodeName,
          path: config.staticPodPath,
          checkMs: config.staticPodCheckMs ?? 20_000,
          onAdd: (pod) => handler.podAdded(pod),
          onRemove: (pod) => handler.podDeleted(pod),
        });

  // The server of the node.
  const server = makeServer({
    base,
    settings,
    node,
    memoryCapacity,
    desired,
    pleg,
    statuses,
    probes,
    volumes,
    csi,
    podEvents: events,
  });
  reporter = new NodeReporter({
    ...common,
    clock: config.backgroundClock ?? clock,
    client,
    events: recorder,
    nodeName: config.nodeName,
    takesOver: config.takesOver ?? false,
    labels: node.labels,
    taints: config.taints ?? [],
    podCIDRs: config.podCIDRs ?? [],
    annotations: {
      'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      // Without files there are no directories to remove.
      [LOCAL_VOLUMES]: hostFiles ? localVolumesDir : '',
    },
    unschedulable: config.unschedulable ?? false,
    facts: async () => ({
      ...(await node.current(
        config.advertisedPort ?? (config.server === undefined ? DEFAULT_PORT : server.port),
      )),
      volumesInUse: csi.volumes.inUse,
    }),
    checkMs: config.nodeCheckMs ?? NODE_CHECK_MS,
    reportMs: config.nodeReportMs ?? 300_000,
    leaseDurationSeconds: 40,
    heartbeatTickMs: config.heartbeatTickMs,
    keeper: config.heartbeatKeeper,
    topic: kubeletTopic(config.nodeName),
  });
  const podCidr = new PodCidrUpdater({
    runtime,
    clock,
    logger,
    signal,
    onUpdate: () => reporter?.nudge(),
  });
  const onNode = (seen: Node): void => {
    podCidr.nodeSeen(seen.spec);
    reporter?.nodeSeen(seen);
  };
  nodeInformer.addEventHandler({ onAdd: onNode, onUpdate: (_, seen) => onNode(seen) });
  const activeUids = (): ReadonlySet<string> | undefined =>
    handler.areSourcesReady ? new Set(active.list().map((pod) => podUid(pod))) : undefined;
  const syncAll = (uids: ReadonlySet<string>): void => {
    for (const uid of uids) workers.sync(uid);
  };
  const servePods = (): Promise<void> =>
    servePodResources(
      {
        clock,
        path: podResourcesSocket(rootDir),
        active: () => active.list(),
        pod: (namespace, name) =>
          [...desired.values()].find(
            ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
          ),
        resources: (pod, container) => devices.resourcesOf(pod, container),
        allocatable: () => devices.allocatable(),
        beforeList: () => devices.releaseInactive(),
      },
      signal,
    ).catch((error: unknown) => logger.error('socket of pod resources not made', { err: error }));
  const deviceHooks: DeviceHooks = {
    active: activeUids,
    isRunning: (uid, container) => {
      const status = pleg.get(uid);
      return status !== undefined && findContainer(status, container)?.state === 'running';
    },
    onCapacity: () => reporter.nudge(),
    onHealth: syncAll,
  };
  return {
    settings,
    startDevices: async () => {
      await devices.start(deviceHooks);
      await dra.start(activeUids, syncAll);
      if (hostFiles) await servePods();
    },
    informers,
    podInformer,
    objects,
    probes,
    pleg,
    statuses,
    workers,
    pods: handler,
    housekeeping,
    staticPods,
    server,
    reporter,
    pressure,
    watchOoms: (until) =>
      // The kernel is that of this machine, unless a test has another one.
      config.nodeSystem === undefined
        ? watchSystemOoms(
            {
              clock,
              logger,
              open: () => KernelLog.open(),
              onSystemOom: (message) => nodeEvents.warning('SystemOOM', message),
            },
            until,
          )
        : Promise.resolve(),
    cgroups,
    csi,
    plugins,
  };
}

/** The configuration with its defaults, and values that are read once at the start. */
interface Settings {
  readonly hostFiles: boolean;
  readonly podNetwork: boolean;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly localVolumesDir: string;
  readonly mounter: Mounter;
  readonly dns: DnsSettings;
  readonly runtimeName: string;
  /** For example 'containerd://1.7.24'. */
  readonly runtimeVersion: string;
}

async function readSettings(
  config: KubeletConfig,
  { runtime }: Runtime,
  signal: AbortSignal,
): Promise<Settings> {
  const hostFiles = config.hostFiles ?? true;
  const { runtimeName, runtimeVersion } = await runtime.version({
    signal,
    timeoutMs: RUNTIME_DEADLINE_MS,
  });
  const rootDir = await prepareRoot(config.rootDir ?? '/var/lib/kubelet', hostFiles);
  return {
    hostFiles,
    podNetwork: config.podNetwork ?? true,
    rootDir,
    podLogsDir: config.podLogsDir ?? '/var/log/pods',
    localVolumesDir: config.localVolumesDir ?? localVolumesPath(rootDir),
    mounter: config.mounter ?? (hostFiles ? systemMounter() : noMounter),
    dns: {
      clusterDNS: config.clusterDNS,
      clusterDomain: config.clusterDomain ?? 'cluster.local',
      node: parseResolvConf(
        hostFiles ? await readResolvConf(config.resolvConf ?? '/etc/resolv.conf') : '',
      ),
    },
    runtimeName,
    runtimeVersion: `${runtimeName}://${runtimeVersion}`,
  };
}

function makeDevicePlugins({ config, metrics, logger }: Base, rootDir: string): RegistrationConfig {
  const { clock } = config;
  const directory = devicePluginsDir(rootDir);
  const checkpoint = new DurableCheckpointFile(join(directory, DEVICE_CHECKPOINT));
  return {
    manager: new DeviceManager({ clock, logger, metrics, checkpoint }),
    directory,
    clock,
    logger,
    onRegistration: (resource) => metrics.deviceRegistered(resource),
  };
}

/** Creates the cgroups of the node. Rejects if the kernel does not allow it. */
async function makeCgroups(
  config: KubeletConfig,
  capacity: ResourceList,
  active: ActivePods,
  logger: Logger,
): Promise<PodCgroups | undefined> {
  const { cgroupRoot: root, kubeReserved, systemReserved, podPidsLimit } = config;
  if (root === undefined) return undefined;
  const limit = amounts(
    podsLimit(capacity, {
      ...(kubeReserved !== undefined && { kubeReserved }),
      ...(systemReserved !== undefined && { systemReserved }),
    }),
  );
  const memoryBytes = limit.get('memory');
  const isEnforced = { ...DEFAULT_EVICTION, ...config.eviction }.enforceAllocatable;
  const cgroups = new PodCgroups({
    system: config.cgroupSystem ?? (await LinuxCgroups.open()),
    logger,
    root,
    node: {
      cpuShares: sharesOf(limit.get('cpu') ?? 0),
      ...(isEnforced && memoryBytes !== undefined && { memoryBytes }),
    },
    maxProcessesPerPod: podPidsLimit,
    activePods: () => active.list(),
  });
  await cgroups.start();
  return cgroups;
}

function makeServiceVariables(informers: SharedInformerFactory): ServiceVariables {
  const informer = informers.informerFor(services);
  const variables = new ServiceVariables(() => informer.lister.list());
  const changed = (): void => variables.changed();
  informer.addEventHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
  return variables;
}

interface ServerParts {
  readonly base: Base;
  readonly csi: Csi;
  readonly podEvents: PodEvents;
  readonly settings: Settings;
  readonly node: NodeFactsSource;
  /** The node's memory, in bytes. */
  readonly memoryCapacity: number;
  readonly desired: DesiredPods;
  readonly pleg: Pleg;
  readonly statuses: StatusManager;
  readonly probes: ProbeManager;
  readonly volumes: VolumeManager;
}

function makeServer(parts: ServerParts): KubeletServer {
  const { base, settings, node, memoryCapacity, desired, pleg, statuses, probes, volumes, csi } =
    parts;
  const { config, metrics, logger } = base;
  const { client, clock } = config;
  const { hostFiles, podLogsDir, localVolumesDir, mounter } = settings;
  // The machine of a simulated node is not the node: the usage of the node is that of its
  // containers.
  const rates = new UsageRates();
  const nodeUsage = hostFiles ? new MachineUsage(clock) : new SimulatedUsage(clock, memoryCapacity);
  const cgroups = hostFiles ? linuxCgroups() : undefined;
  const runtimeStatus = (uid: string): RuntimePodStatus | undefined => pleg.get(uid);
  const withStatus = (pod: Pod): Pod => {
    const status = statuses.get(podUid(pod));
    return status === undefined ? pod : { ...pod, status };
  };
  return new KubeletServer({
    clock,
    logger,
    access: new ApiAccess({ client, clock, nodeName: config.nodeName, settings: config.access }),
    metrics,
    gauges: makeGauges(config, desired, pleg),
    probeMetrics: () => probes.metrics.text(),
    runningPods: () => [...pleg.pods()].filter(isRunning).map(runningPod),
    usage: () =>
      readUsage({ runtime: base.runtime.runtime, node: nodeUsage, rates, runtimeStatus }),
    details: hostFiles
      ? new MachineDetails({ clock, rootDir: settings.rootDir, images: base.runtime.images })
      : new SimulatedDetails(
          clock,
          amountOf('ephemeral-storage', node.capacity['ephemeral-storage'] ?? '0'),
        ),
    ...(hostFiles && {
      files: new PodFilesReader({
        system: config.nodeSystem ?? new LinuxSystem(),
        clock,
        logger,
        rootDir: settings.rootDir,
        podLogsDir,
        mountedVolumes: (uid) => volumes.mountedVolumes(uid),
        isLocalVolume: (uid, path) => volumes.isLocalVolume(uid, path),
        driverStats: (uid, path, signal) => csi.volumes.stats(uid, path, signal),
        onAbnormal: (pod, name, message) =>
          parts.podEvents.warning(pod, 'VolumeConditionAbnormal', `Volume ${name}: ${message}`),
        signal: base.signal,
      }),
    }),
    ...(cgroups !== undefined && { cgroups: new CgroupReader(cgroups) }),
    machine: () => ({
      cpuCores: amountOf('cpu', node.capacity['cpu'] ?? '0') / 1000,
      memoryBytes: memoryCapacity,
      machineID: node.machine.machineID,
      systemUUID: node.machine.systemUUID,
      bootID: node.machine.bootID,
      kernelVersion: node.machine.kernelVersion,
      osVersion: node.machine.osImage,
    }),
    configuration: (port) =>
      kubeletConfiguration({
        config,
        port,
        maxPods: Number(node.capacity['pods'] ?? config.maxPods ?? 110),
        podLogsDir,
      }),
    runtime: base.runtime,
    podLogsDir,
    pods: () => [...desired.values()].map(withStatus),
    runtimeStatus,
    removeLocalVolume: async (name) => {
      if (volumes.usesPath(join(localVolumesDir, name)))
        throw new LocalVolumeError(`volume ${name} is in use`);
      if (hostFiles) await removeLocalVolume(name, localVolumesDir, mounter);
    },
    startedAt: clock.now(),
    nodeName: config.nodeName,
    version: versionInfo(config.kubeletVersion ?? DEFAULT_KUBELET_VERSION),
    flags: config.flags,
    ...(config.server !== undefined ? { listen: config.server } : {}),
  });
}

function makeGauges(
  { nodeName, clock }: KubeletConfig,
  desired: DesiredPods,
  pleg: Pleg,
): KubeletGauges {
  return {
    nodeName,
    runningPods: () =>
      [...pleg.pods()].filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready)).length,
    containers: () => countContainers(pleg.pods()),
    desiredPods: () => {
      const all = [...desired.values()];
      const fromFiles = all.filter(isStaticPod).length;
      return { api: all.length - fromFiles, static: fromFiles };
    },
    lastRelist: () => Math.max(0, clock.now() - (clock.monotonic() - pleg.lastRelist)),
  };
}

function countContainers(
  all: Iterable<RuntimePodStatus>,
): Record<'created' | 'running' | 'exited' | 'unknown', number> {
  const counts = { created: 0, running: 0, exited: 0, unknown: 0 };
  for (const { containers } of all) for (const { state } of containers) counts[state]++;
  return counts;
}

/** Creates the directory. Returns its real path, as it appears in lists of mount points. */
async function prepareRoot(rootDir: string, hostFiles: boolean): Promise<string> {
  if (!hostFiles) return rootDir;
  await mkdir(rootDir, { recursive: true, mode: 0o750 });
  return await realpath(rootDir);
}

/**
 * Reads a small text file of the node. A container with a hostPath volume may have replaced the
 * file with any other type.
 */
async function readNodeFile(path: string): Promise<string> {
  return (await readUntrusted(path, MAX_NODE_FILE_BYTES, { followLinks: true })).toString('utf8');
}

async function readResolvConf(path: string): Promise<string> {
  if (path === '') return '';
  try {
    return await readNodeFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
