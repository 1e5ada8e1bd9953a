// The kubelet: runs the pods that are bound to its node.
//
// Desired pods come from the API (one watch, of the pods of this node) and from static manifests; observed pods from the
// runtime. Whatever changes on either side wakes the worker of that pod, which brings the two together. This file makes the
// parts and connects them; what a worker does is in pod-syncer.ts, and what is to be done in runtime/compute-pod-actions.ts.

import { mkdir, realpath } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
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
import { EventRecorder } from '#client/events/index.ts';
import { SharedInformerFactory, type Lister, type SharedInformer } from '#client/informers/index.ts';
import type { Runtime } from '#cri/index.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import { readUntrusted } from '#machinery/files/untrusted.ts';
import type { Logger } from '#machinery/log.ts';
import { admitPod, selectsNode } from './admission.ts';
import { Allocations } from './allocations.ts';
import { DesiredPods } from './desired-pods.ts';
import type { KubeletConfig } from './config.ts';
import { parseResolvConf, type DnsSettings } from './dns.ts';
import type { DownwardContext } from './env/downward.ts';
import { ServiceVariables } from './env/service-variables.ts';
import { PodEvents } from './events.ts';
import { GarbageCollector } from './garbage.ts';
import { HookRunner } from './handlers/hooks.ts';
import { ImageManager } from './images/image-manager.ts';
import { Leftovers } from './leftovers.ts';
import { rotateLogs } from './logs/rotate-logs.ts';
import { readTerminationMessage } from './logs/termination-message.ts';
import { NodeFactsSource } from './node/node-facts.ts';
import { NodeReporter } from './node/node-reporter.ts';
import { ObjectTracker, type ObjectSource } from './objects.ts';
import { localVolumesPath } from './paths.ts';
import { Pleg } from './pleg.ts';
import { KubeletPodSyncer } from './pod-syncer.ts';
import { PodWorkers } from './pod-workers.ts';
import { ProbeManager } from './probes/probe-manager.ts';
import { ProbeRunner } from './probes/probe-runner.ts';
import { withDeadlines } from './runtime/deadlines.ts';
import { ContainerKiller } from './runtime/kill.ts';
import { isRunning, type RuntimePodStatus } from './pod/pod-status.ts';
import { amountOf, qosClass } from './pod/resources.ts';
import { RuntimeManager } from './runtime/runtime-manager.ts';
import { instrumentRuntime } from './metrics/instrumented-runtime.ts';
import { versionInfo } from '#machinery/version-info.ts';
import { KubeletMetrics } from './metrics/kubelet-metrics.ts';
import { MachineUsage, SimulatedUsage } from './node/node-usage.ts';
import { ApiAccess } from './server/access.ts';
import { kubeletConfiguration } from './configz.ts';
import { runningPod } from './server/running-pods.ts';
import type { ServerUser } from './server/access.ts';
import { KubeletServer } from './server/server.ts';
import { readUsage } from './node/usage.ts';
import { StaticPods, isMirrorPod, isStaticPod } from './static-pods.ts';
import { isTerminal } from './status/phase.ts';
import { StatusManager } from './status/status-manager.ts';
import { formatTime } from '#machinery/text/time.ts';
import { TokenManager } from './tokens.ts';
import { describePod, podUid, type Node, type Pod, type PodStatus, type ResourceList } from './types.ts';
import { LocalVolumeError, removeLocalVolume } from './volumes/local-volumes.ts';
import { noMounter, systemMounter } from './volumes/mounter.ts';
import { VolumeManager } from './volumes/volume-manager.ts';
import { watchObject } from './watch-object.ts';

const DEFAULT_PORT = 10_250;
const DEFAULT_KUBELET_VERSION = 'v1.36.3';
/** On the Node: where the directories of the built-in provisioner's volumes are. */
const LOCAL_VOLUMES = 'coxswain.dev/local-volumes';
const USER_AGENT = 'kube-probe/1.36';
const RETRY_MS = 10_000;
const MAX_NODE_FILE_BYTES = 1024 * 1024;
const RUNTIME_DEADLINE_MS = 30_000;

export class Kubelet {
  readonly #config: KubeletConfig;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #runtime: Runtime;
  readonly #metrics: KubeletMetrics;
  readonly #abort = new AbortController();
  readonly #recorder: EventRecorder;
  readonly #events: PodEvents;
  /** What runs in the background until the signal aborts. */
  readonly #background: Promise<unknown>[] = [];
  #parts: Parts | undefined;
  /** Desired pods by UID: those of the API (mirror pods excepted) and static ones. */
  readonly #desired = new DesiredPods();
  /** The API's pods and the static manifests have been read: what is in neither is not wanted. */
  #sourcesReady = false;
  #housekeeping: Timer | undefined;
  #stopped: Promise<void> | undefined;

  constructor(config: KubeletConfig) {
    this.#config = config;
    this.#clock = config.clock;
    this.#logger = config.logger.with({ component: 'kubelet', node: config.nodeName });
    this.#metrics = new KubeletMetrics(config.clock);
    // A simulated runtime, whose node writes no files, is in memory: it always answers.
    const runtime = config.hostFiles === false ? config.runtime : withDeadlines(config.runtime, config.clock);
    this.#runtime = instrumentRuntime(runtime, this.#metrics);
    this.#recorder = new EventRecorder({
      client: config.client,
      clock: config.clock,
      random: config.random,
      logger: this.#logger,
      component: 'kubelet',
      host: config.nodeName,
      perSecond: config.eventsPerSecond ?? 50,
      burst: config.eventsPerSecond === 0 ? Number.POSITIVE_INFINITY : (config.eventBurst ?? 100),
    });
    this.#events = new PodEvents(this.#recorder);
  }

  /** The port of the HTTPS server; 0 if none is open. */
  get port(): number {
    return this.#parts?.server.port ?? 0;
  }

  /**
   * Resolves when the node is registered and every pod that is bound to it has a worker. Rejects if the runtime cannot be
   * reached, the root directory not be used, or the port not be opened.
   */
  async start(): Promise<void> {
    try {
      await this.#start();
    } catch (err) {
      await this.stop();
      throw err;
    }
  }

  async #start(): Promise<void> {
    const { signal } = this.#abort;
    const parts = await this.#makeParts();
    this.#parts = parts;
    // What the runtime has from before is known before any pod is looked at: nothing is started twice.
    await parts.pleg.relist(signal);
    this.#background.push(parts.pleg.run(signal));
    await parts.server.listen();
    parts.informers.start(signal);
    // Static pods do not wait for the API; the others need to know the node and the services.
    await Promise.all([parts.reporter.register(signal), parts.informers.waitForCacheSync(signal), parts.staticPods?.load()]);
    this.#watchApi(parts);
    this.#sourcesReady = true;
    await this.#removeOrphans();
    this.#background.push(parts.reporter.run(signal));
    if (parts.staticPods !== undefined) this.#background.push(parts.staticPods.run(signal));
    this.#scheduleHousekeeping();
    this.#logger.info('kubelet is running', { runtime: parts.runtimeVersion, rootDir: parts.rootDir });
  }

  /** Stops the kubelet; containers go on running. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /**
   * Serves one connection on which HTTP/1.1 is spoken. Who connects is who `user` says: only for callers inside the process
   * that have authenticated them already (the API server).
   */
  handleConnection(connection: Duplex, user: ServerUser): void {
    if (this.#parts === undefined) {
      connection.destroy(new Error('the kubelet has not been started'));
      return;
    }
    this.#parts.server.handleConnection(connection, user);
  }

  async #stop(): Promise<void> {
    this.#abort.abort(new Error('the kubelet stops'));
    this.#housekeeping?.cancel();
    const parts = this.#parts;
    if (parts !== undefined) {
      await parts.workers.stop();
      parts.probes.stop();
      parts.statuses.stop();
      parts.objects.stop();
      await parts.server.close();
      await parts.informers.stopped();
    }
    this.#recorder.stop();
    await Promise.allSettled(this.#background);
  }

  async #makeParts(): Promise<Parts> {
    const config = this.#config;
    const clock = this.#clock;
    const logger = this.#logger;
    const { runtime, images } = this.#runtime;
    const { signal } = this.#abort;
    const hostFiles = config.hostFiles ?? true;
    const podNetwork = config.podNetwork ?? true;
    const version = await runtime.version({ signal, timeoutMs: RUNTIME_DEADLINE_MS });
    const rootDir = await prepareRoot(config.rootDir ?? '/var/lib/kubelet', hostFiles);
    const podLogsDir = config.podLogsDir ?? '/var/log/pods';
    const runtimeVersion = `${version.runtimeName}://${version.runtimeVersion}`;
    const node = await NodeFactsSource.read({
      kubelet: config,
      runtime: this.#runtime,
      clock,
      logger,
      signal,
      rootDir,
      runtimeVersion,
      port: () => config.advertisedPort ?? (config.server === undefined ? DEFAULT_PORT : this.port),
      lastRelist: () => pleg.lastRelist,
    });
    const dns: DnsSettings = {
      clusterDNS: config.clusterDNS,
      clusterDomain: config.clusterDomain ?? 'cluster.local',
      node: parseResolvConf(hostFiles ? await readResolvConf(config.resolvConf ?? '/etc/resolv.conf') : ''),
    };
    const mounter = config.mounter ?? (hostFiles ? systemMounter() : noMounter);
    const common = { clock, random: config.random, logger };
    const informers = new SharedInformerFactory({ ...common, client: config.client });
    const podInformer = informers.informerFor(pods, { fieldSelector: `spec.nodeName=${config.nodeName}` });
    const serviceInformer = informers.informerFor(services);
    const serviceVariables = new ServiceVariables(() => serviceInformer.lister.list());
    const servicesChanged = (): void => serviceVariables.changed();
    serviceInformer.addEventHandler({ onAdd: servicesChanged, onUpdate: servicesChanged, onDelete: servicesChanged });
    const nodeInformer = informers.informerFor(nodes, { fieldSelector: `metadata.name=${config.nodeName}` });

    const allocations = new Allocations({
      allocatable: () => node.allocatable,
      active: () => [...this.#desired.values()].filter((pod) => this.#isActive(pod)),
    });
    const workersRef = (): PodWorkers => this.#require().workers;
    const objects = new ObjectTracker({
      clock,
      watch: (kind, namespace, name, onChange) =>
        watchObject({ ...common, client: config.client }, kind === 'secret' ? secrets : configMaps, namespace, name, onChange),
      onChange: (uids) => {
        for (const uid of uids) {
          volumes.markStale(uid);
          workersRef().sync(uid);
        }
      },
    });
    const downward = (): DownwardContext => ({ podIPs: [], hostIPs: node.hostIPs, nodeAllocatable: node.allocatable });
    const hooks = new HookRunner({ runtime, clock, userAgent: USER_AGENT, podNetwork });
    const killer = new ContainerKiller({ runtime, clock, logger, events: this.#events, hooks });
    const probes = new ProbeManager({
      ...common,
      events: this.#events,
      runner: new ProbeRunner({ runtime, clock, userAgent: USER_AGENT, podNetwork }),
      onChange: (uid) => workersRef().sync(uid),
    });
    const pleg = new Pleg({
      runtime,
      onRelist: (seconds) => this.#metrics.relisted(seconds),
      clock,
      logger,
      readTerminationMessage: hostFiles ? readTerminationMessage : () => Promise.resolve(''),
      onChange: (uid) => this.#runtimeChanged(uid),
      ...(config.relistMs !== undefined ? { relistMs: config.relistMs } : {}),
    });
    const statuses = new StatusManager({
      clock,
      logger,
      couldHaveRunningContainers: (uid) => {
        const status = pleg.get(uid);
        return workersRef().couldHaveRunningContainers(uid) ?? (status !== undefined && isRunning(status));
      },
      writer: {
        patchStatus: async (pod, patch, abort) => {
          // The API has a mirror of a static pod, under a UID of its own.
          const target = isStaticPod(pod) ? await this.#require().staticPods?.mirrorOf(pod) : pod;
          if (target === undefined) throw new Error('a static pod without a directory of static pods');
          return await config.client
            .resource(pods)
            .namespace(target.metadata.namespace ?? '')
            .patch(
              target.metadata.name,
              'application/strategic-merge-patch+json',
              { metadata: { uid: podUid(target) }, status: patch },
              { subresource: 'status', signal: abort },
            );
        },
        remove: async (pod, abort) => {
          await config.client
            .resource(pods)
            .namespace(pod.metadata.namespace ?? '')
            .delete(pod.metadata.name, { gracePeriodSeconds: 0, preconditions: { uid: podUid(pod) }, signal: abort });
        },
      },
    });
    const localVolumesDir = config.localVolumesDir ?? localVolumesPath(rootDir);
    const volumes = new VolumeManager({
      rootDir,
      clock,
      logger,
      mounter,
      hostFiles,
      localVolumesDir,
      claims: {
        claim: (namespace, name) => config.client.resource(persistentVolumeClaims).namespace(namespace).get(name, { signal }),
        volume: (name) => config.client.resource(persistentVolumes).get(name, { signal }),
      },
      isReachable: ({ spec }) => {
        const self = nodeInformer.lister.get('', config.nodeName);
        const required = spec.nodeAffinity?.required;
        return self === undefined || required === undefined || selectsNode(required, self);
      },
    });
    const tokens = new TokenManager(config.client, clock);
    const garbage = new GarbageCollector({ runtime, logger, rootDir, podLogsDir, hostFiles });
    const leftovers = new Leftovers({ garbage, pleg, logger, signal });
    const runtimeManager = new RuntimeManager({
      ...common,
      runtime,
      images,
      imageManager: new ImageManager({ images, clock, events: this.#events }),
      killer,
      hooks,
      probes,
      events: this.#events,
      objects: objects satisfies ObjectSource,
      services: serviceVariables,
      downward,
      mounter,
      dns,
      nodeHosts: () => readNodeFile('/etc/hosts'),
      rootDir,
      podLogsDir,
      hostFiles,
      memoryCapacity: amountOf('memory', node.capacity['memory'] ?? '0'),
      metrics: this.#metrics,
      runtimeHandler: async (name) => (await config.client.resource(runtimeClasses).get(name, { signal })).handler,
      onSandbox: (sandbox) => pleg.noteSandbox(sandbox),
      restartBackoffMs: config.restartBackoffMs ?? 10_000,
      maxRestartBackoffMs: config.maxRestartBackoffMs ?? 300_000,
      retryMs: RETRY_MS,
    });
    const syncer = new KubeletPodSyncer({
      metrics: this.#metrics,
      clock,
      logger,
      events: this.#events,
      pleg,
      statuses,
      probes,
      runtimeManager,
      killer,
      volumes,
      objects,
      allocations,
      // Where nothing is written, nobody could read a token: none is asked for, and none renewed every hour.
      token: (request) => (hostFiles ? tokens.get(request) : Promise.resolve('')),
      downward,
      runtimeName: () => version.runtimeName,
      networkProblem: () => node.networkProblem,
      collectGarbage: (status) => garbage.collect(status),
      onFinished: (pod) => this.#podFinished(pod),
    });
    const workers = new PodWorkers({
      ...common,
      metrics: this.#metrics,
      syncer,
      isStopped: (pod) => {
        const status = pleg.get(podUid(pod));
        return status === undefined || !isRunning(status);
      },
    });
    const memoryCapacity = amountOf('memory', node.capacity['memory'] ?? '0');
    // Where nothing is written, the machine is not the node: it has what its containers use.
    const nodeUsage = hostFiles ? new MachineUsage(clock) : new SimulatedUsage(clock, memoryCapacity);
    const runtimeStatus = (uid: string): RuntimePodStatus | undefined => pleg.get(uid);
    const server = new KubeletServer({
      clock,
      logger,
      access: new ApiAccess({ client: config.client, clock, nodeName: config.nodeName, settings: config.access }),
      metrics: this.#metrics,
      gauges: {
        nodeName: config.nodeName,
        runningPods: () => [...pleg.pods()].filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready)).length,
        containers: () => countContainers(pleg.pods()),
        desiredPods: () => {
          const all = [...this.#desired.values()];
          const fromFiles = all.filter(isStaticPod).length;
          return { api: all.length - fromFiles, static: fromFiles };
        },
        lastRelist: () => Math.max(0, clock.now() - (clock.monotonic() - pleg.lastRelist)),
      },
      probeMetrics: () => probes.metrics.text(),
      runningPods: () => [...pleg.pods()].filter(isRunning).map(runningPod),
      usage: () => readUsage({ runtime, node: nodeUsage, runtimeStatus }),
      machine: () => ({
        cpuCores: amountOf('cpu', node.capacity['cpu'] ?? '0') / 1000,
        memoryBytes: memoryCapacity,
        machineID: node.machine.machineID,
        systemUUID: node.machine.systemUUID,
        bootID: node.machine.bootID,
        kernelVersion: node.machine.kernelVersion,
        osVersion: node.machine.osImage,
      }),
      configuration: () =>
        kubeletConfiguration({
          config,
          port: this.port,
          maxPods: Number(node.capacity['pods'] ?? config.maxPods ?? 110),
          podLogsDir,
        }),
      runtime: this.#runtime,
      podLogsDir,
      pods: () => [...this.#desired.values()].map((pod) => this.#withStatus(pod)),
      runtimeStatus,
      removeLocalVolume: async (name) => {
        if (volumes.usesPath(join(localVolumesDir, name))) throw new LocalVolumeError(`volume ${name} is in use`);
        if (hostFiles) await removeLocalVolume(name, localVolumesDir, mounter);
      },
      startedAt: clock.now(),
      nodeName: config.nodeName,
      version: versionInfo(config.kubeletVersion ?? DEFAULT_KUBELET_VERSION),
      flags: config.flags,
      ...(config.server !== undefined ? { listen: config.server } : {}),
    });
    const reporter = new NodeReporter({
      ...common,
      client: config.client,
      events: this.#recorder,
      nodeName: config.nodeName,
      labels: node.labels,
      taints: config.taints ?? [],
      podCIDRs: config.podCIDRs ?? [],
      annotations: {
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
        // Where nothing is written, there is nothing to remove either.
        [LOCAL_VOLUMES]: hostFiles ? localVolumesDir : '',
      },
      unschedulable: config.unschedulable ?? false,
      facts: () => node.current(),
      checkMs: config.nodeCheckMs ?? 10_000,
      reportMs: config.nodeReportMs ?? 300_000,
      leaseDurationSeconds: 40,
    });
    const staticPods =
      config.staticPodPath === undefined
        ? undefined
        : new StaticPods({
            clock,
            logger,
            client: config.client,
            nodeName: config.nodeName,
            nodeUid: async () => {
              const known = nodeInformer.lister.get('', config.nodeName);
              return (known ?? (await config.client.resource(nodes).get(config.nodeName, { signal }))).metadata.uid;
            },
            path: config.staticPodPath,
            checkMs: config.staticPodCheckMs ?? 20_000,
            onAdd: (pod) => this.#podAdded(pod),
            onRemove: (pod) => this.#podDeleted(pod),
          });
    return {
      rootDir,
      runtimeVersion,
      allocatable: node.allocatable,
      informers,
      pods: podInformer,
      nodes: nodeInformer.lister,
      objects,
      allocations,
      probes,
      pleg,
      statuses,
      volumes,
      tokens,
      garbage,
      leftovers,
      runtimeManager,
      workers,
      server,
      reporter,
      staticPods,
    };
  }

  #require(): Parts {
    if (this.#parts === undefined) throw new Error('the kubelet has not been started');
    return this.#parts;
  }

  #watchApi(parts: Parts): void {
    parts.pods.addEventHandler({
      onAdd: (pod) => this.#apiPodAdded(pod),
      onUpdate: (previous, pod) => {
        if (podUid(previous) === podUid(pod)) {
          this.#apiPodUpdated(pod);
          return;
        }
        // Another pod of the same name: the one before was deleted in between.
        this.#apiPodDeleted(previous);
        this.#apiPodAdded(pod);
      },
      onDelete: (pod) => this.#apiPodDeleted(pod),
    });
  }

  #apiPodAdded(pod: Pod): void {
    if (isMirrorPod(pod)) this.#mirrorSeen(pod);
    else this.#podAdded(pod);
  }

  #apiPodUpdated(pod: Pod): void {
    if (isMirrorPod(pod)) this.#mirrorSeen(pod);
    else this.#podUpdated(pod);
  }

  /** What the API has of a static pod: if it is not what we have written, as of a mirror that was made anew, it is written again. */
  #mirrorSeen(mirror: Pod): void {
    const { staticPods, statuses } = this.#require();
    const pod = staticPods?.mirrorSeen(mirror);
    if (pod === undefined) return;
    const metadata = { ...pod.metadata, resourceVersion: mirror.metadata.resourceVersion };
    statuses.observe({ ...pod, metadata, status: mirror.status });
  }

  #apiPodDeleted(pod: Pod): void {
    if (isMirrorPod(pod)) this.#require().staticPods?.mirrorDeleted(pod);
    else this.#podDeleted(pod);
  }

  #podAdded(pod: Pod): void {
    const { workers, allocations } = this.#require();
    const uid = podUid(pod);
    const admitted = workers.isTerminationRequested(uid) || isTerminal(pod.status.phase) || this.#admit(pod);
    this.#desired.set(uid, pod, allocations.current(pod));
    if (!admitted) return;
    workers.update({ type: 'create', pod });
  }

  #podUpdated(pod: Pod): void {
    const { workers, statuses, volumes, allocations } = this.#require();
    const uid = podUid(pod);
    const before = this.#desired.get(uid);
    this.#desired.set(uid, pod, allocations.current(pod));
    statuses.observe(pod);
    if (before !== undefined && !concernsWorker(before, pod)) return;
    // Files may show the pod's labels and annotations.
    volumes.markStale(uid);
    if (this.#isRejected(pod, workers.state(uid) !== undefined)) {
      if (pod.metadata.deletionTimestamp !== undefined) statuses.removeWhenWritten(pod);
      return;
    }
    workers.update({ type: 'update', pod });
  }

  #podDeleted(pod: Pod): void {
    const { workers, statuses } = this.#require();
    const uid = podUid(pod);
    this.#desired.delete(uid);
    statuses.forget(uid);
    this.#retryDeferred();
    if (workers.state(uid) === undefined) return;
    // Without a word of its own it has the time that its spec gives it: somebody deleted only the object.
    workers.update({ type: 'kill', pod });
  }

  /** Pods that count against what the node has: those that may have containers, or are about to. */
  #isActive(pod: Pod): boolean {
    const { workers, statuses } = this.#require();
    const uid = podUid(pod);
    const state = workers.state(uid);
    if (state !== undefined) return state === 'syncing' || state === 'terminating';
    return !isTerminal(statuses.get(uid)?.phase ?? pod.status.phase);
  }

  /** Called before the pod is one of the desired: it is judged by what else there is. */
  #admit(pod: Pod): boolean {
    const { allocatable, nodes: nodeLister, statuses, pleg, allocations } = this.#require();
    // It runs already: it was admitted before the kubelet was started anew.
    if (pleg.get(podUid(pod)) !== undefined) return true;
    const rejection = admitPod({
      pod,
      active: () =>
        [...this.#desired.values()].filter((other) => this.#isActive(other)).map((other) => allocations.current(other)),
      activeAtMost: { pods: this.#desired.size, requested: this.#desired.requestedAtMost },
      allocatable,
      node: nodeLister.get('', this.#config.nodeName),
    });
    if (rejection === undefined) return true;
    this.#metrics.podRejected(rejection.reason);
    this.#logger.info('pod rejected', { pod: describePod(pod), reason: rejection.reason });
    this.#events.warning(pod, rejection.reason, rejection.message);
    const status: PodStatus = {
      ...(pod.metadata.generation !== undefined ? { observedGeneration: pod.metadata.generation } : {}),
      phase: 'Failed',
      reason: rejection.reason,
      message: `Pod was rejected: ${rejection.message}`,
      qosClass: qosClass(pod),
      startTime: formatTime(this.#clock.now()),
      ...(pod.status.conditions !== undefined ? { conditions: pod.status.conditions } : {}),
    };
    statuses.set(pod, status);
    return false;
  }

  /** It never got a worker, because it was not admitted. */
  #isRejected(pod: Pod, hasWorker: boolean): boolean {
    return !hasWorker && isTerminal(this.#require().statuses.get(podUid(pod))?.phase ?? pod.status.phase);
  }

  #runtimeChanged(uid: string): void {
    const { workers } = this.#require();
    if (workers.state(uid) !== undefined) workers.sync(uid);
    else if (this.#sourcesReady && !this.#desired.has(uid)) this.#killOrphan(uid);
  }

  /** Called by the pod's worker once all is stopped and tidied up, and for every change of such a pod. */
  #podFinished(pod: Pod): void {
    const { statuses, pleg, leftovers } = this.#require();
    const uid = podUid(pod);
    this.#retryDeferred();
    const wanted = this.#desired.get(uid);
    if (wanted !== undefined && wanted.metadata.deletionTimestamp === undefined) return;
    if (wanted !== undefined && !isStaticPod(wanted)) statuses.removeWhenWritten(wanted);
    const left = pleg.get(uid);
    if (left !== undefined) leftovers.remove(left);
    if (wanted === undefined) this.#forget(uid);
  }

  /** There may be room now for what a pod could not be given before. */
  #retryDeferred(): void {
    const { workers, allocations } = this.#require();
    for (const uid of allocations.deferred()) workers.sync(uid);
  }

  #forget(uid: string): void {
    const { workers, statuses, runtimeManager, tokens, allocations } = this.#require();
    workers.forget(uid);
    allocations.forget(uid);
    statuses.forget(uid);
    runtimeManager.forget(uid);
    tokens.forget(uid);
  }

  /** The runtime has a pod that nobody wants. */
  #killOrphan(uid: string): void {
    const { workers, pleg, leftovers } = this.#require();
    const status = pleg.get(uid);
    if (status === undefined || workers.state(uid) !== undefined) return;
    if (!isRunning(status)) {
      leftovers.remove(status);
      return;
    }
    this.#logger.info('killing a pod that is not wanted here', { pod: `${status.namespace}/${status.name}`, uid });
    workers.update({ type: 'kill', pod: podFromRuntime(status), runtimeOnly: true });
  }

  /** Pods in the runtime or on the disk that neither the API nor a manifest has. */
  async #removeOrphans(): Promise<void> {
    const { pleg, garbage, volumes, workers } = this.#require();
    for (const { uid } of pleg.pods()) if (!this.#desired.has(uid)) this.#killOrphan(uid);
    const isKnown = (uid: string): boolean =>
      this.#desired.has(uid) || workers.state(uid) !== undefined || pleg.get(uid) !== undefined;
    for (const uid of await garbage.podsOnDisk()) {
      if (isKnown(uid)) continue;
      try {
        await volumes.unmount(uid);
      } catch (err) {
        this.#logger.warn('orphaned pod directory not removed', { uid, err });
      }
    }
    if (this.#config.hostFiles !== false) await garbage.removeOrphanedLogs(isKnown);
  }

  #scheduleHousekeeping(): void {
    if (this.#abort.signal.aborted) return;
    this.#housekeeping = this.#clock.setTimer(this.#config.housekeepingMs ?? 10_000, () => {
      const work = this.#keepHouse().catch((err: unknown) => this.#logger.warn('housekeeping failed', { err }));
      void work.then(() => this.#scheduleHousekeeping());
    });
  }

  async #keepHouse(): Promise<void> {
    const { pleg, workers, tokens, volumes, leftovers } = this.#require();
    for (const { uid } of pleg.pods()) {
      if (!this.#desired.has(uid) && workers.state(uid) === undefined) this.#killOrphan(uid);
    }
    for (const { pod, state } of workers.known()) {
      // A pod that only the runtime knew, or that was deleted while it ended.
      if (state === 'finished' && !this.#desired.has(podUid(pod))) this.#forget(podUid(pod));
    }
    await leftovers.retry();
    for (const uid of tokens.due()) {
      volumes.markStale(uid);
      workers.sync(uid);
    }
    if (this.#config.hostFiles !== false) {
      await rotateLogs({
        runtime: this.#runtime.runtime,
        clock: this.#clock,
        logger: this.#logger,
        containers: [...pleg.pods()].flatMap((status) => status.containers).filter((container) => container.state === 'running'),
        maxBytes: this.#config.containerLogMaxBytes ?? 10 * 1024 * 1024,
        maxFiles: this.#config.containerLogMaxFiles ?? 5,
      });
    }
  }

  #withStatus(pod: Pod): Pod {
    const status = this.#require().statuses.get(podUid(pod));
    return status === undefined ? pod : { ...pod, status };
  }
}

/** Everything that is made when the kubelet starts. */
interface Parts {
  readonly rootDir: string;
  readonly runtimeVersion: string;
  readonly allocatable: ResourceList;
  readonly informers: SharedInformerFactory;
  readonly pods: SharedInformer<Pod>;
  readonly nodes: Lister<Node>;
  readonly objects: ObjectTracker;
  readonly allocations: Allocations;
  readonly probes: ProbeManager;
  readonly pleg: Pleg;
  readonly statuses: StatusManager;
  readonly volumes: VolumeManager;
  readonly tokens: TokenManager;
  readonly garbage: GarbageCollector;
  readonly leftovers: Leftovers;
  readonly runtimeManager: RuntimeManager;
  readonly workers: PodWorkers;
  readonly server: KubeletServer;
  readonly reporter: NodeReporter;
  readonly staticPods: StaticPods | undefined;
}

function countContainers(pods: Iterable<RuntimePodStatus>): Record<'created' | 'running' | 'exited' | 'unknown', number> {
  const counts = { created: 0, running: 0, exited: 0, unknown: 0 };
  for (const { containers } of pods) for (const { state } of containers) counts[state]++;
  return counts;
}

/** Whether anything has changed but the status, which is the kubelet's own to write. */
function concernsWorker(before: Pod, after: Pod): boolean {
  const a = before.metadata;
  const b = after.metadata;
  // The generation grows with every change of the spec, and when deletion is asked for.
  if (a.generation === undefined || a.generation !== b.generation) return true;
  if (a.deletionTimestamp !== b.deletionTimestamp || a.deletionGracePeriodSeconds !== b.deletionGracePeriodSeconds) return true;
  if (!isDeepStrictEqual(a.labels, b.labels) || !isDeepStrictEqual(a.annotations, b.annotations)) return true;
  // Readiness gates are conditions that others write; and somebody may have declared the pod to have ended.
  if ((after.spec.readinessGates ?? []).length > 0) return true;
  return isTerminal(after.status.phase) && !isTerminal(before.status.phase);
}

/** Returns a pod with the fields that stopping it takes. */
function podFromRuntime(status: RuntimePodStatus): Pod {
  const names = [...new Set(status.containers.map((container) => container.name))];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: status.name, namespace: status.namespace, uid: status.uid, resourceVersion: '', creationTimestamp: '' },
    spec: { containers: names.map((name) => ({ name, resources: {} })) },
    status: {},
  };
}

/** The directory with links resolved: mount points are listed by their real paths. */
async function prepareRoot(rootDir: string, hostFiles: boolean): Promise<string> {
  if (!hostFiles) return rootDir;
  await mkdir(rootDir, { recursive: true, mode: 0o750 });
  return await realpath(rootDir);
}

/** Reads a small text file of the node: containers with a hostPath volume may have put anything in its place. */
async function readNodeFile(path: string): Promise<string> {
  return (await readUntrusted(path, MAX_NODE_FILE_BYTES, { followLinks: true })).toString('utf8');
}

async function readResolvConf(path: string): Promise<string> {
  if (path === '') return '';
  try {
    return await readNodeFile(path);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw err;
  }
}
