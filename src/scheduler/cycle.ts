// Acting on decisions: one pod after the other through its scheduling cycle, then, side by side, through their binding
// cycles. Whatever goes wrong, the pod ends in exactly one place: on its node, back in the queue, or dropped because it is
// gone or somebody else has bound it.

import { pods } from '#api/groups/core/v1/index.ts';
import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import type { EventType, Recorder } from '#client/events/index.ts';
import type { Lister } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import type { SchedulerCache } from './cache/cache.ts';
import type { Snapshot } from './cache/snapshot.ts';
import { CycleState } from './framework/cycle-state.ts';
import { assignedPodDelete } from './framework/events.ts';
import { type Diagnosis, fitErrorMessage, NO_NODES_AVAILABLE } from './framework/fit-error.ts';
import type { Framework } from './framework/framework.ts';
import { NodeToStatus } from './framework/node-to-status.ts';
import type { Pod } from './framework/objects.ts';
import type { PreBindPlugin } from './framework/plugin.ts';
import { PodInfo } from './framework/pod-info.ts';
import { Status } from './framework/status.ts';
import type { Extenders } from './extenders/extenders.ts';
import type { SchedulerMetrics } from './metrics/scheduler-metrics.ts';
import type { PodStatusWriter } from './pod-status.ts';
import { certainlyRefused } from './outcome.ts';
import { NONE, type QueuedPod } from './queue/queued-pod.ts';
import type { SchedulingQueue } from './queue/scheduling-queue.ts';
import { diagnosisOf, type SchedulingAlgorithm } from './schedule-one.ts';

export interface CycleConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly cache: SchedulerCache;
  readonly snapshot: Snapshot;
  readonly queue: SchedulingQueue;
  readonly algorithm: SchedulingAlgorithm;
  readonly extenders: Extenders;
  readonly podLister: Lister<Pod>;
  readonly podStatus: PodStatusWriter;
  readonly metrics: SchedulerMetrics;
  /** By profile. */
  readonly frameworks: ReadonlyMap<string, Framework>;
  /** By profile: reports in the name of the profile's scheduler. */
  readonly recorders: ReadonlyMap<string, Recorder>;
  /** Aborts requests that are still under way. */
  readonly signal: AbortSignal;
}

/** Stands for a plugin in what refused a pod when there was no node at all: the first node wakes the pod. */
export const NO_NODES = '(no nodes)';

/** The longest note that an event carries. */
const MAX_NOTE_LENGTH = 1024;

/** Why a pod was not scheduled, for its condition, its event and the queue. */
interface Failure {
  readonly reason: 'Unschedulable' | 'SchedulerError';
  readonly message: string;
  /** Both empty if something broke. */
  readonly unschedulablePlugins: ReadonlySet<string>;
  readonly pendingPlugins: ReadonlySet<string>;
  /** '' takes back a promise of a node; undefined leaves it. */
  readonly nominatedNode?: string;
}

export class Cycle {
  readonly #config: CycleConfig;
  /** Binding cycles past Permit: these talk to the API server. */
  #bindings = 0;
  /** Called when one of them ends. */
  #bindingEnded: () => void = () => undefined;
  /** By UID: pods that were told their node before they were bound. */
  readonly #told = new Map<string, string>();
  /** All binding cycles. None rejects. */
  readonly #underWay = new Set<Promise<void>>();
  #stopped = false;
  /** Aborts with #stopped: what PreBind plugins wait for may take longer than anybody waits for the end. */
  readonly #stopping = new AbortController();

  constructor(config: CycleConfig) {
    this.#config = config;
    sharedByMany(this.#stopping.signal);
  }

  /** Resolves when fewer than `limit` bindings are under way, or when stopped. */
  async untilFewerBindings(limit: number): Promise<void> {
    while (this.#bindings >= limit && !this.#stopped) {
      await new Promise<void>((resolve) => {
        this.#bindingEnded = resolve;
      });
    }
  }

  /** What fails from now on is told to nobody: the pods are left to whoever schedules next. */
  stop(): void {
    this.#stopped = true;
    this.#stopping.abort(new Error('the scheduler stops'));
    this.#bindingEnded();
  }

  /** How many talk to the API server at present. */
  get bindings(): number {
    return this.#bindings;
  }

  /** Resolves when every binding cycle has ended. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Schedules a pod that was popped from the queue. Resolves when the next one may follow; binding goes on behind. Never rejects. */
  async scheduleOne(queued: QueuedPod): Promise<void> {
    const { cache, queue, frameworks, logger, metrics } = this.#config;
    const { info } = queued;
    const framework = frameworks.get(info.pod.spec.schedulerName ?? '');
    const deleting = info.pod.metadata.deletionTimestamp !== undefined;
    if (framework === undefined || deleting || cache.isAssumed(info.uid)) {
      // Not ours, going anyway, or decided while an update brought it back.
      queue.done(info.uid);
      if (deleting)
        this.#report(info.pod, 'Warning', 'FailedScheduling', `skip schedule deleting pod: ${info.key}`, 'Scheduling');
      return;
    }
    const state = new CycleState();
    queued.attemptStart = metrics.now();
    try {
      const outcome = await this.#schedulingCycle(framework, state, info);
      if (typeof outcome !== 'string') {
        this.#fail(framework, queued, outcome);
        return;
      }
      this.#startBinding(framework, state, queued, outcome);
    } catch (err) {
      logger.error('scheduling a pod broke', { pod: info.key, err });
      cache.forgetPod(info.uid);
      this.#fail(framework, queued, broken(Status.error(err)));
    }
  }

  /** The node, with the pod assumed to be on it and everything reserved; or why not, with nothing held. */
  async #schedulingCycle(framework: Framework, state: CycleState, pod: PodInfo): Promise<string | Failure> {
    const { cache, snapshot, queue, algorithm, extenders, metrics } = this.#config;
    const start = metrics.now();
    cache.updateSnapshot(snapshot);
    const result = extenders.none
      ? algorithm.schedule(framework, state, pod)
      : await algorithm.scheduleExtended(framework, state, pod, extenders);
    switch (result.kind) {
      case 'noNodes':
        return {
          reason: 'Unschedulable',
          message: NO_NODES_AVAILABLE,
          unschedulablePlugins: new Set([NO_NODES]),
          pendingPlugins: NONE,
          nominatedNode: '',
        };
      case 'error':
        return broken(result.status);
      case 'unfit':
        return this.#makeRoom(framework, state, pod, result.diagnosis);
      case 'node':
    }
    const { node } = result;
    metrics.nodeChosen(start);
    cache.assumePod(pod, node);
    const promised = queue.nominatedNode(pod.uid);
    queue.nominate(pod, '');
    // What it was promised elsewhere is for others: pods of no higher priority had to leave it alone.
    if (promised !== undefined && promised !== node) {
      queue.moveAll(assignedPodDelete, { before: onNode(pod.pod, promised) }, ({ spec }) => (spec.priority ?? 0) <= pod.priority);
    }
    const refused = reserveAndPermit(framework, state, pod, node);
    if (refused === undefined) return node;
    framework.runUnreserve(state, pod, node);
    cache.forgetPod(pod.uid);
    return refusedOn(node, refused);
  }

  /** Lets PostFilter plugins try; the pod is tried again once what they began has had its effect. */
  async #makeRoom(framework: Framework, state: CycleState, pod: PodInfo, diagnosis: Diagnosis): Promise<Failure> {
    const { reason, unschedulablePlugins, pendingPlugins } = { reason: 'Unschedulable' as const, ...diagnosis };
    if (framework.plugins.postFilter.length === 0) {
      return { reason, message: fitErrorMessage(diagnosis), unschedulablePlugins, pendingPlugins, nominatedNode: '' };
    }
    const { message: postFilterMessage, nominatedNode } = await framework.runPostFilter(state, pod, diagnosis.statuses);
    const message = fitErrorMessage({ ...diagnosis, postFilterMessage });
    return { reason, message, unschedulablePlugins, pendingPlugins, nominatedNode };
  }

  #startBinding(framework: Framework, state: CycleState, queued: QueuedPod, node: string): void {
    const waiting = framework.waitOnPermit(queued.info);
    if (waiting !== undefined) void this.#tell(queued.info, node);
    const run = this.#bindingCycle(framework, state, queued, node, waiting).finally(() => this.#underWay.delete(run));
    this.#underWay.add(run);
  }

  /** Never rejects. */
  async #bindingCycle(
    framework: Framework,
    state: CycleState,
    queued: QueuedPod,
    node: string,
    waiting: Promise<Status | undefined> | undefined,
  ): Promise<void> {
    try {
      const refused = waiting === undefined ? undefined : await waiting;
      if (refused !== undefined) {
        this.#undo(framework, state, queued, node, refusedOn(node, refused));
        return;
      }
      const preBinds = framework.neededPreBinds(state, queued.info, node);
      if (preBinds instanceof Status) {
        this.#undo(framework, state, queued, node, broken(preBinds));
        return;
      }
      // It may take minutes, and is not counted: others are bound meanwhile.
      if (preBinds.length > 0 && !(await this.#prepare(preBinds, framework, state, queued, node))) return;
      this.#bindings++;
      await this.#bind(framework, state, queued, node).finally(() => {
        this.#bindings--;
        this.#bindingEnded();
      });
    } catch (err) {
      this.#config.logger.error('binding a pod broke', { pod: queued.info.key, node, err });
      this.#undo(framework, state, queued, node, broken(Status.error(err)));
    }
  }

  /** Whether the pod may be bound; if not, it is back in the queue. */
  async #prepare(
    preBinds: readonly PreBindPlugin[],
    framework: Framework,
    state: CycleState,
    queued: QueuedPod,
    node: string,
  ): Promise<boolean> {
    // As in #bind.
    this.#config.queue.done(queued.info.uid);
    await this.#tell(queued.info, node);
    const failure = await framework.runPreBind(preBinds, state, queued.info, node, this.#stopping.signal);
    if (failure === undefined) return true;
    // Events that could have told of a change were not kept meanwhile: as if something broke, it is tried again in any case.
    this.#undo(framework, state, queued, node, { ...refusedOn(node, failure), unschedulablePlugins: NONE, pendingPlugins: NONE });
    return false;
  }

  /** It takes a while: whoever looks at the pod, or schedules after a restart, knows where it is going to be. */
  async #tell({ pod, uid }: PodInfo, node: string): Promise<void> {
    this.#told.set(uid, node);
    await this.#config.podStatus.nominate(pod, node);
  }

  async #bind(framework: Framework, state: CycleState, queued: QueuedPod, node: string): Promise<void> {
    const { queue, cache, podStatus, logger, metrics } = this.#config;
    const pod = queued.info;
    // No plugin refuses the pod after this; what goes wrong now is tried again whatever happens in the cluster meanwhile.
    queue.done(pod.uid);
    // An older «not scheduled» must not be written over the binding.
    await podStatus.settle(pod.uid);
    const failure = await this.#tryBind(framework, state, pod, node);
    if (failure !== undefined) {
      this.#undo(framework, state, queued, node, broken(failure));
      return;
    }
    cache.finishBinding(pod.uid);
    this.#told.delete(pod.uid);
    metrics.attemptEnded('scheduled', framework.profileName, queued.attemptStart);
    metrics.podScheduled(queued.attempts, queued.initialAttemptMs, queued.wasFlushed);
    logger.debug('bound', { pod: pod.key, node, attempts: queued.attempts });
    this.#report(pod.pod, 'Normal', 'Scheduled', `Successfully assigned ${pod.key} to ${node}`, 'Binding');
    try {
      framework.runPostBind(state, pod, node);
    } catch (err) {
      // The pod is bound; nothing that is said afterwards changes that.
      logger.error('a PostBind plugin broke', { pod: pod.key, node, err });
    }
  }

  /** Undefined once the pod is certainly bound to the node, a status once it is certainly not bound by this call. */
  async #tryBind(framework: Framework, state: CycleState, pod: PodInfo, node: string): Promise<Status | undefined> {
    const failure = await this.#runBind(framework, state, pod, node);
    if (failure === undefined || certainlyRefused(failure.cause)) return failure;
    // The answer may be lost and the binding done. To forget the pod now could fill the node beyond what it holds.
    return (await this.#isBound(pod, node)) ? undefined : failure;
  }

  /** An extender that binds goes before the profile's own plugins. */
  async #runBind(framework: Framework, state: CycleState, pod: PodInfo, node: string): Promise<Status | undefined> {
    const { extenders, signal } = this.#config;
    if (!extenders.none && extenders.binds(pod.pod)) {
      try {
        if (await extenders.bind(pod.pod, node)) return undefined;
      } catch (err) {
        return Status.error(err);
      }
    }
    return await framework.runBind(state, pod, node, signal);
  }

  /** Asks the API server until it answers. */
  async #isBound(pod: PodInfo, node: string): Promise<boolean> {
    const { client, clock, random, logger, podLister, signal } = this.#config;
    const { namespace = '', name } = pod.pod.metadata;
    const backoff = new wait.Backoff({ durationMs: 1000, factor: 2, capMs: 10_000, jitter: 0.1, random });
    for (;;) {
      const seen = podLister.get(namespace, name);
      if (seen?.metadata.uid === pod.uid && seen.spec.nodeName) return seen.spec.nodeName === node;
      try {
        const live = await client.resource(pods).namespace(namespace).get(name, { signal });
        return live.metadata.uid === pod.uid && live.spec.nodeName === node;
      } catch (err) {
        if (apierrors.isNotFound(err) || signal.aborted) return false;
        logger.warn('whether a pod is bound could not be found out; asking again', { pod: pod.key, node, err });
        await clock.sleep(backoff.next(), signal).catch(() => undefined);
      }
    }
  }

  /** The pod will not be on the node after all: gives back what it held there, and wakes pods that may want it. */
  #undo(framework: Framework, state: CycleState, queued: QueuedPod, node: string, failure: Failure): void {
    const { cache, queue } = this.#config;
    const { info } = queued;
    framework.runUnreserve(state, info, node);
    const held = cache.forgetPod(info.uid);
    // Itself it cannot help: it comes back below, and had the room.
    if (held) queue.moveAll(assignedPodDelete, { before: onNode(info.pod, node) }, (other) => other.metadata.uid !== info.uid);
    this.#fail(framework, queued, failure);
  }

  /** Puts the pod back, and tells why. */
  #fail(framework: Framework, queued: QueuedPod, failure: Failure): void {
    const { queue, podLister, podStatus, logger, metrics } = this.#config;
    const { info } = queued;
    const { namespace = '', name } = info.pod.metadata;
    queued.unschedulablePlugins = failure.unschedulablePlugins;
    queued.pendingPlugins = failure.pendingPlugins;
    const told = this.#told.get(info.uid);
    this.#told.delete(info.uid);
    if (this.#stopped) return;
    const result = failure.reason === 'Unschedulable' ? 'unschedulable' : 'error';
    metrics.attemptEnded(result, framework.profileName, queued.attemptStart);
    const now = podLister.get(namespace, name);
    if (now === undefined || now.metadata.uid !== info.uid || now.spec.nodeName) {
      // Gone, or bound by somebody else (or by a request that was thought to have failed).
      queue.done(info.uid);
      return;
    }
    const current = now === info.pod ? info : new PodInfo(now);
    queue.addUnschedulable(queued, current);
    if (failure.nominatedNode !== undefined) queue.nominate(current, failure.nominatedNode);
    if (failure.reason === 'SchedulerError')
      logger.warn('a pod could not be scheduled', { pod: info.key, reason: failure.message });
    else logger.debug('a pod fits nowhere', { pod: info.key, reason: failure.message });
    this.#report(now, 'Warning', 'FailedScheduling', truncated(failure.message), 'Scheduling');
    podStatus.notScheduled(told === undefined ? now : withNomination(now, told), failure);
  }

  /** An event about the pod, in the name of its scheduler. */
  #report(pod: Pod, type: EventType, reason: string, message: string, action: string): void {
    const recorder = this.#config.recorders.get(pod.spec.schedulerName ?? '');
    recorder?.event(referenceTo(pod), type, reason, message, { action });
  }
}

/** What they throw is a refusal too: what was reserved has to be given back. */
function reserveAndPermit(framework: Framework, state: CycleState, pod: PodInfo, node: string): Status | undefined {
  try {
    const refused = framework.runReserve(state, pod, node) ?? framework.runPermit(state, pod, node);
    return refused?.code === 'Wait' ? undefined : refused;
  } catch (err) {
    return Status.error(err);
  }
}

function broken(status: Status): Failure {
  return {
    reason: 'SchedulerError',
    message: status.message,
    unschedulablePlugins: NONE,
    pendingPlugins: NONE,
    nominatedNode: '',
  };
}

/** Refused after the node was chosen, by Reserve or Permit. */
function refusedOn(node: string, status: Status): Failure {
  if (!status.rejected) return broken(status);
  const statuses = new NodeToStatus();
  statuses.set({ name: node }, status);
  const diagnosis = diagnosisOf(statuses, 1);
  const { unschedulablePlugins, pendingPlugins } = diagnosis;
  return {
    reason: 'Unschedulable',
    message: fitErrorMessage(diagnosis),
    unschedulablePlugins,
    pendingPlugins,
    nominatedNode: '',
  };
}

/** As it is going to be seen. */
function withNomination(pod: Pod, nominatedNodeName: string): Pod {
  return { ...pod, status: { ...pod.status, nominatedNodeName } };
}

function onNode(pod: Pod, nodeName: string): Pod {
  return { ...pod, spec: { ...pod.spec, nodeName } };
}

/** Pods from lists do not say what kind they are. */
function referenceTo({ metadata }: Pod) {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, resourceVersion };
}

/** Cut to the bytes that an event takes. */
function truncated(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= MAX_NOTE_LENGTH) return message;
  const suffix = ' ...';
  // A character that is cut in two is left out.
  return (
    bytes
      .subarray(0, MAX_NOTE_LENGTH - suffix.length)
      .toString()
      .replace(/�$/, '') + suffix
  );
}
