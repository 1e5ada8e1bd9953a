// Composes a kubelet: makes its parts from the configuration, each after the parts that it uses.
// Two parts depend on later ones, and get them at the end: the pod workers, which call the syncer,
// and the PLEG, which notifies the pod handler.

import { nodes, pods } from '#api/groups/core/v1/index.ts';
import { runtimeClasses } from '#api/groups/node/v1/index.ts';
import { type InformerView, SharedInformerFactory } from '#client/informers/index.ts';
import { ActivePods } from './active-pods.ts';
import { admitAppArmor } from './apparmor.ts';
import { Allocations } from './allocations.ts';
import { kubeletTopic } from './config.ts';
import type { Csi } from './csi.ts';
import { DesiredPods } from './desired-pods.ts';
import type { DeviceHooks } from './devices/device-manager.ts';
import { isSettled } from './dormant/at-rest.ts';
import { makeDra } from './dra.ts';
import type { DownwardContext } from './env/downward.ts';
import { followServices } from './env/service-variables.ts';
import { PodEvents } from './events.ts';
import { isCriticalPod } from './eviction/critical.ts';
import { SIMULATED_HARD, DEFAULT_EVICTION } from './eviction/settings.ts';
import { watchSystemOoms } from './eviction/system-oom.ts';
import { parseThresholds } from './eviction/thresholds.ts';
import { GarbageCollector } from './garbage.ts';
import { HookRunner } from './handlers/hooks.ts';
import { withTimeout } from './handlers/timeout.ts';
import { Housekeeping } from './housekeeping.ts';
import { DEFAULT_IMAGE_GC } from './images/image-records.ts';
import { Leftovers } from './leftovers.ts';
import { readTerminationMessage } from './logs/termination-message.ts';
import { MirrorPods } from './static-pods/mirror-pods.ts';
import { NodeDevices } from './node-devices.ts';
import { KernelLog } from './node/kernel-log.ts';
import { LinuxSystem } from './node/linux-system.ts';
import { readSwapFacts } from './node/swap-facts.ts';
import { NodeEvents } from './node/node-events.ts';
import { NodeFactsSource } from './node/node-facts.ts';
import type { NodeReporter } from './node/node-reporter.ts';
import { ObjectTracker } from './objects.ts';
import type { Base } from './parts/base.ts';
import { makeCgroups } from './parts/cgroups.ts';
import { makeDevicePlugins } from './parts/device-plugins.ts';
import { makeImageManager } from './parts/images.ts';
import { machineTopology, makeResourceManagers } from './parts/resource-managers.ts';
import { makeReporter } from './parts/reporter.ts';
import { makeServer } from './parts/server.ts';
import { type Settings, readSettings, readNodeFile } from './parts/settings.ts';
import { makeShutdown } from './parts/shutdown.ts';
import { makeStaticPods } from './parts/static-pods.ts';
import { makeStorage } from './parts/storage.ts';
import { podResourcesSocket } from './paths.ts';
import { Pleg } from './pleg.ts';
import type { PluginManager } from './plugins/index.ts';
import type { PodCgroups } from './pod-cgroups/pod-cgroups.ts';
import { PodHandler } from './pod-handler.ts';
import { servePodResources } from './pod-resources/server.ts';
import { KubeletPodSyncer } from './pod-syncer.ts';
import { PodWorkers } from './pod-workers.ts';
import { ApiPodWriter } from './pod-writer.ts';
import { findContainer, isRunning } from './pod/pod-status.ts';
import { amountOf } from './pod/resources.ts';
import { makePressure, type Pressure, removeEndedPod } from './pressure.ts';
import { ProbeManager } from './probes/probe-manager.ts';
import { ProbeRunner } from './probes/probe-runner.ts';
import { ContainerKiller } from './runtime/kill.ts';
import type {
  ResourceHooks,
  ResourceManagers,
  RunningContainer,
} from './resource-managers/resource-managers.ts';
import { RuntimeManager } from './runtime/runtime-manager.ts';
import { maySwap } from './runtime/swap.ts';
import type { KubeletServer } from './server/server.ts';
import type { StaticPods } from './static-pods/static-pods.ts';
import type { ShutdownManager } from './shutdown/shutdown-manager.ts';
import { StatusManager } from './status/status-manager.ts';
import { SysctlAllowlist } from './sysctls.ts';
import { TokenManager } from './tokens.ts';
import { podUid, type Node, type Pod } from './types.ts';
import { readSubordinateIds } from './user-namespaces/subordinate-ids.ts';
import { mappingFiles, mappingsInMemory } from './user-namespaces/mapping-files.ts';
import { IDS_PER_POD, UserNamespaces } from './user-namespaces/user-namespaces.ts';
import { watchesOf } from './watch-object.ts';

const USER_AGENT = 'kube-probe/1.36';
const RETRY_MS = 10_000;
/** The database of users may be on another machine. */
const SUBORDINATE_IDS_MS = 10_000;

const CGROUP_V1_WARNING =
  'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. ' +
  'Please migrate to cgroup v2. More information at ' +
  'https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1';

/** The parts of a kubelet that are started, stopped or queried. */
export interface Parts {
  readonly settings: Settings;
  /** Absent on simulated nodes. */
  readonly managers: ResourceManagers | undefined;
  /** Absent: pods are not ended when the machine shuts down. */
  readonly shutdown: ShutdownManager | undefined;
  /** Reads the devices, CPUs and memory of pods from the last run, and lets device plugins register. */
  readonly startDevices: () => Promise<void>;
  /** Reads the user namespaces of pods from the last run. */
  readonly reconstructUserNamespaces: () => Promise<void>;
  readonly informers: SharedInformerFactory;
  readonly podInformer: InformerView<Pod>;
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
  const { hostFiles, podNetwork, rootDir, podLogsDir, mounter } = settings;

  // Observation: the runtime, the node, the API.
  const pleg = new Pleg({
    runtime,
    outline: () => config.runtime.outline?.(),
    topic: kubeletTopic(config.nodeName),
    clock,
    logger,
    readTerminationMessage: hostFiles ? readTerminationMessage : () => Promise.resolve(''),
    onRelist: (seconds) => metrics.relisted(seconds),
    ...(config.relistMs !== undefined ? { relistMs: config.relistMs } : {}),
  });
  const dra = makeDra(base, settings);
  const system = config.nodeSystem ?? (hostFiles ? new LinuxSystem() : undefined);
  const eviction = {
    ...DEFAULT_EVICTION,
    ...(system === undefined && { hard: SIMULATED_HARD }),
    ...config.eviction,
  };
  const thresholds = parseThresholds(eviction);
  // Set below: both depend on the pods of the node.
  let pressure: Pressure | undefined;
  let shutdown: ShutdownManager | undefined;
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
    shutdown: () => shutdown?.problem,
    lastRelist: () => pleg.lastRelist,
  });
  const memoryCapacity = amountOf('memory', node.capacity['memory'] ?? '0');
  const machine = await machineTopology(base, settings, memoryCapacity);
  const managers =
    machine && makeResourceManagers(base, settings, machine, node.capacity, thresholds);
  const devices = new NodeDevices({
    ...(hostFiles &&
      machine !== undefined && { plugins: makeDevicePlugins(base, rootDir, machine) }),
    ...(managers !== undefined && { managers }),
    claims: dra.manager,
    logger,
    signal,
  });
  const downward = (): DownwardContext => ({
    podIPs: [],
    hostIPs: node.hostIPs,
    nodeAllocatable: node.allocatable,
  });
  const informers = new SharedInformerFactory({ ...common, client });
  const shared = config.predecessor?.shared;
  const podInformer =
    shared?.pods ??
    informers.informerFor(pods, { fieldSelector: `spec.nodeName=${config.nodeName}` });
  const serviceVariables = shared?.services ?? followServices(informers);
  const nodeInformer =
    shared?.node ??
    informers.informerFor(nodes, { fieldSelector: `metadata.name=${config.nodeName}` });
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
  let reporter: NodeReporter | undefined;
  const { csi, plugins, volumes } = makeStorage({
    base,
    settings,
    informers,
    nodeObject,
    tokens,
    draDrivers: dra.drivers,
    onVolumesInUse: () => reporter?.nudge(),
  });
  const objects = new ObjectTracker({
    clock,
    watch: shared?.watchObject ?? watchesOf({ ...common, client }),
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
    config.staticPodPath === undefined && config.staticPodUrl === undefined
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
    onTerminated: (type, exitCode, reason) => metrics.containerTerminated(type, exitCode, reason),
  });
  const active = new ActivePods(desired, workers, statuses);
  const { cpuManagerPolicy, memoryManagerPolicy } = config.resourceManagers ?? {};
  const allocations = new Allocations({
    staticManagers: [
      ...(cpuManagerPolicy === 'static' ? (['CPU'] as const) : []),
      ...(memoryManagerPolicy === 'Static' ? (['Memory'] as const) : []),
    ],
    allocatable: () => node.allocatable,
    active: () => active.list(),
    maySwap: (pod, container) => swap !== undefined && maySwap(pod, container, swap),
    metrics: metrics.resizes,
    onResized: (pod, asked) => {
      syncer.resizeBegun(pod);
      if (!asked) workers.sync(podUid(pod));
    },
  });

  const nodeEvents = new NodeEvents(recorder, config.nodeName);
  const cgroups = await makeCgroups(config, node.capacity, active, managers, logger);
  if (cgroups !== undefined)
    nodeEvents.normal('NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
  if (cgroups?.version === 1) nodeEvents.warning('CgroupV1', CGROUP_V1_WARNING);

  // Actions on the runtime.
  const garbage = new GarbageCollector({ runtime, logger, rootDir, podLogsDir, hostFiles });
  const leftovers = new Leftovers({ garbage, pleg, logger, signal });
  const hooks = new HookRunner({ runtime, clock, userAgent: USER_AGENT, podNetwork });
  const killer = new ContainerKiller({ runtime, clock, logger, events, hooks });
  const machineSwap = hostFiles
    ? await readSwapFacts(config.swapBehavior ?? 'NoSwap', memoryCapacity)
    : undefined;
  const swap = machineSwap && { ...machineSwap, isCritical: isCriticalPod };
  const userNamespaces = new UserNamespaces({
    files: hostFiles ? mappingFiles(rootDir) : mappingsInMemory(),
    idsPerPod: config.userNamespaceIdsPerPod ?? IDS_PER_POD,
    maxPods: amountOf('pods', node.capacity['pods'] ?? '0'),
    handlers: () => node.runtimeHandlers(),
    subordinateIds:
      config.subordinateIds ??
      (() =>
        hostFiles
          ? withTimeout(clock, SUBORDINATE_IDS_MS, signal, () => readSubordinateIds())
          : Promise.resolve(undefined)),
  });
  const runtimeManager = new RuntimeManager({
    ...common,
    runtime,
    images,
    imageManager: makeImageManager(base, events),
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
    dns: {
      ...settings.dns,
      warnNode: (reason, message) => nodeEvents.warning(reason, message),
    },
    nodeHosts: () => readNodeFile('/etc/hosts'),
    rootDir,
    podLogsDir,
    hostFiles,
    memoryCapacity,
    ...(managers !== undefined && { placements: managers }),
    swap,
    cgroupParent: (pod) => cgroups?.pathOf(pod) ?? '',
    metrics,
    userNamespace: (pod, handler) => userNamespaces.optionsFor(pod, handler),
    volumeGroups: (pod) => volumes.groups.of(pod),
    recursiveReadOnly: async (handler) =>
      (await node.runtimeHandlers()).find(({ name }) => name === handler)?.features
        ?.recursiveReadOnlyMounts === true,
    seccompDefault: config.seccompDefault ?? 'Unconfined',
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
    userNamespaces,
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
  shutdown = makeShutdown({
    base,
    settings,
    active,
    workers,
    events,
    nodeEvents,
    onChange: () => reporter?.nudge(),
  });
  const sysctls = new SysctlAllowlist(
    node.machine.kernelVersion,
    config.allowedUnsafeSysctls ?? [],
  );
  const handler = new PodHandler({
    rejects: (pod) =>
      pressure?.evictions.admit(pod) ??
      sysctls.admit(pod) ??
      admitAppArmor(pod, settings.appArmor) ??
      shutdown?.admit(),
    isSettled: (pod) =>
      config.predecessor !== undefined &&
      isSettled(pod, pleg.get(podUid(pod)), settings.runtimeName, node.hostIPs[0]),
    areStaticPodsRead: () => staticPods?.areAllRead ?? true,
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
    userNamespaces,
    hostFiles,
    periodMs: config.housekeepingMs ?? 10_000,
    topic: kubeletTopic(config.nodeName),
    logMaxBytes: config.containerLogMaxBytes ?? 10 * 1024 * 1024,
    logMaxFiles: config.containerLogMaxFiles ?? 5,
  });
  const staticPods =
    mirrors &&
    makeStaticPods(base, mirrors, {
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
    allocations,
    podEvents: events,
  });
  reporter = makeReporter({ base, settings, node, nodeInformer, server, csi });
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
  const resourceHooks: ResourceHooks = {
    active: () => (handler.areSourcesReady ? active.list() : undefined),
    running: () => runningContainers(active.list(), pleg),
    setCpus: (id, cpusetCpus, until) =>
      runtime.updateContainerResources(id, { cpusetCpus }, { signal: until }),
  };
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
    managers,
    shutdown,
    startDevices: async () => {
      await managers?.start(resourceHooks);
      await devices.start(deviceHooks);
      await dra.start(activeUids, syncAll);
      if (hostFiles) await servePods();
    },
    reconstructUserNamespaces: async () => userNamespaces.reconstruct(await garbage.podsOnDisk()),
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

/** Returns the running containers of the pods. */
function runningContainers(pods: readonly Pod[], pleg: Pleg): readonly RunningContainer[] {
  return pods.flatMap((pod) =>
    (pleg.get(podUid(pod))?.containers ?? []).flatMap(({ name, id, state }) =>
      state === 'running' ? [{ pod, name, id }] : [],
    ),
  );
}
