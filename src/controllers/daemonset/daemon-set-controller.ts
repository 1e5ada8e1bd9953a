// DaemonSets: one pod on each node where one belongs, replaced at the pace that the update strategy allows.

import { controllerRevisions, daemonSets } from '#api/groups/apps/v1/index.ts';
import type { DaemonSet } from '#api/groups/apps/v1/index.ts';
import { nodes, pods } from '#api/groups/core/v1/index.ts';
import type { Node, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { EventRecorder } from '#client/events/index.ts';
import { ControllerExpectations } from '#client/expectations.ts';
import { objectKey } from '#client/informers/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { RateLimitingQueue, reconciled, requeue, requeueAfter, runWorkers } from '#client/workqueue/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { claim } from '../claim.ts';
import type { ClaimConfig, Claimant } from '../claim.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { BY_CONTROLLER, byController, controllerOf, newControllerRef, orphansOf } from '../controller-ref.ts';
import { beyondLimit, History, REVISION_HASH, templateData } from '../history/index.ts';
import type { ReadRevision } from '../history/index.ts';
import { OwnWrites, staleSyncSkips } from '../own-writes.ts';
import { isNamespaceTerminating, PodControl } from '../pod-control.ts';
import { isPodTerminal, podReadySince } from '../pod-state.ts';
import { slowStartBatch } from '../slow-start.ts';
import { calculateStatus, type Ended, type Facts, type Plan, planNodes, planUpdate } from './decisions.ts';
import { FailureBackoff } from './failure-backoff.ts';
import { placementOn, targetNodeOf, templateFor } from './placement.ts';

type ReadDaemonSet = Immutable<DaemonSet>;
type ReadNode = Immutable<Node>;
type ReadPod = Immutable<Pod>;

export interface DaemonSetControllerConfig extends ControllerConfig {
  /** Keys that are reconciled at once. Default: 2. */
  readonly workers?: number;
  /** Pods that one reconcile creates, and that it deletes, at most. Default: 250. */
  readonly burstReplicas?: number;
}

const COMPONENT = 'daemonset-controller';

export class DaemonSetController implements Controller {
  readonly name = COMPONENT;
  readonly #config: DaemonSetControllerConfig;
  readonly #sets: SharedInformer<ReadDaemonSet>;
  readonly #pods: SharedInformer<ReadPod>;
  readonly #nodes: SharedInformer<ReadNode>;
  readonly #revisions: SharedInformer<ReadRevision>;
  readonly #queue: RateLimitingQueue;
  readonly #recorder: EventRecorder;
  readonly #podControl: PodControl;
  readonly #claims: ClaimConfig<DaemonSet, Pod>;
  readonly #history: History<DaemonSet>;
  readonly #expectations: ControllerExpectations;
  readonly #writes: OwnWrites;
  readonly #backoff = new FailureBackoff();

  constructor(config: DaemonSetControllerConfig) {
    const { client, clock, random, informers, logger } = config;
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock, metrics: config.queueMetrics?.('daemonset') });
    this.#recorder = new EventRecorder({ client, clock, random, logger, component: COMPONENT });
    this.#podControl = new PodControl({ client, recorder: this.#recorder });
    this.#expectations = new ControllerExpectations({ clock });
    const instruments = config.instruments ?? new Instruments();
    this.#writes = new OwnWrites({ clock, skips: staleSyncSkips(instruments, 'daemonset_controller') });
    this.#claims = { client, ownerType: daemonSets, type: pods };
    this.#sets = informers.informerFor(daemonSets);
    this.#pods = informers.informerFor(pods);
    this.#nodes = informers.informerFor(nodes);
    this.#revisions = informers.informerFor(controllerRevisions);
    this.#pods.addIndexers({ [BY_CONTROLLER]: byController });
    this.#history = new History({
      client,
      ownerType: daemonSets,
      informer: this.#revisions,
      hashLabel: REVISION_HASH,
      wrote: (owner, revision) =>
        this.#writes.wrote(objectKey(owner), revision, this.#revisions.lister.getByKey(objectKey(revision))),
    });
    this.#sets.addEventHandler({
      onAdd: (set) => this.#setChanged(set),
      onUpdate: (before, set) => {
        if (before.metadata.uid !== set.metadata.uid) this.#setGone(before);
        this.#setChanged(set);
      },
      onDelete: (set) => this.#setGone(set),
    });
    this.#pods.addEventHandler({
      onAdd: (pod) => this.#podAdded(pod),
      onUpdate: (before, pod) => this.#podUpdated(before, pod),
      onDelete: (pod) => this.#podDeleted(pod),
    });
    this.#revisions.addEventHandler({
      onAdd: (revision) => this.#revisionChanged(revision),
      onUpdate: (_, revision) => this.#revisionChanged(revision),
      onDelete: (revision) => this.#revisionGone(revision),
    });
    this.#nodes.addEventHandler({
      onAdd: (node) => this.#nodeChanged(undefined, node),
      onUpdate: (before, node) => this.#nodeChanged(before, node),
      onDelete: (node) => this.#nodeChanged(node, undefined),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { workers = 2, logger } = this.#config;
    const informers = [this.#sets, this.#pods, this.#nodes, this.#revisions];
    await Promise.all(informers.map((informer) => informer.waitForSync(signal)));
    await runWorkers(this.#queue, workers, (key, stop) => this.#reconcile(key, stop), signal, { logger });
    this.#recorder.stop();
  }

  #setChanged(set: ReadDaemonSet): void {
    this.#writes.seen(objectKey(set), set);
    this.#queue.add(objectKey(set));
  }

  #setGone(set: ReadDaemonSet): void {
    const key = objectKey(set);
    this.#expectations.deleteExpectations(key);
    this.#writes.forget(key);
    this.#backoff.forget(set.metadata.uid);
  }

  #podAdded(pod: ReadPod): void {
    if (pod.metadata.deletionTimestamp !== undefined) {
      this.#podDeleted(pod);
      return;
    }
    const owner = this.#ownerOf(pod);
    if (owner !== undefined) {
      this.#expectations.creationObserved(objectKey(owner));
      this.#queue.add(objectKey(owner));
    } else if (controllerOf(pod) === undefined) this.#wakeAdopters(pod);
  }

  #podUpdated(before: ReadPod, pod: ReadPod): void {
    if (before.metadata.uid !== pod.metadata.uid) {
      this.#podDeleted(before);
      this.#podAdded(pod);
      return;
    }
    if (pod.metadata.deletionTimestamp !== undefined) {
      this.#podDeleted(pod);
      return;
    }
    const [previous, owner] = [this.#ownerOf(before), this.#ownerOf(pod)];
    if (previous !== undefined && previous !== owner) this.#queue.add(objectKey(previous));
    if (owner !== undefined) this.#queue.add(objectKey(owner));
    else if (controllerOf(pod) === undefined) this.#wakeAdopters(pod);
  }

  #podDeleted(pod: ReadPod): void {
    const owner = this.#ownerOf(pod);
    if (owner === undefined) return;
    this.#expectations.deletionObserved(objectKey(owner), pod.metadata.uid);
    this.#queue.add(objectKey(owner));
  }

  #revisionChanged(revision: ReadRevision): void {
    const owner = this.#ownerOf(revision);
    if (owner === undefined) return;
    this.#writes.seen(objectKey(owner), revision);
    this.#queue.add(objectKey(owner));
  }

  #revisionGone(revision: ReadRevision): void {
    const owner = this.#ownerOf(revision);
    if (owner === undefined) return;
    this.#writes.gone(objectKey(owner), revision);
    this.#queue.add(objectKey(owner));
  }

  /** Heartbeats change nothing: only where a node's place among a DaemonSet's nodes is another, that one is woken. */
  #nodeChanged(before: ReadNode | undefined, node: ReadNode | undefined): void {
    if (before !== undefined && node !== undefined && samePlace(before, node)) return;
    for (const set of this.#sets.lister.list()) {
      const then = before && placementOn(before, set);
      const now = node && placementOn(node, set);
      if (then?.shouldRun !== now?.shouldRun || then?.shouldContinueRunning !== now?.shouldContinueRunning) {
        this.#queue.add(objectKey(set));
      }
    }
  }

  #wakeAdopters(pod: ReadPod): void {
    for (const set of this.#sets.lister.list(pod.metadata.namespace ?? '')) {
      if (selectorOf(set).matches(pod.metadata.labels)) this.#queue.add(objectKey(set));
    }
  }

  /** The DaemonSet that controls the object, if the cache has that very one. */
  #ownerOf(object: ReadPod | ReadRevision): ReadDaemonSet | undefined {
    const reference = controllerOf(object);
    if (reference === undefined || reference.kind !== 'DaemonSet') return undefined;
    const owner = this.#sets.lister.get(object.metadata.namespace ?? '', reference.name);
    return owner?.metadata.uid === reference.uid ? owner : undefined;
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const set = this.#sets.lister.getByKey(key);
    if (set === undefined) return reconciled;
    const behindMs = this.#writes.remainingMs(key);
    if (behindMs > 0) return requeueAfter(behindMs);
    try {
      return await this.#sync(key, set, signal);
    } catch (err) {
      if (apierrors.isConflict(err)) return requeue;
      // The DaemonSet or its namespace is on the way out.
      if (apierrors.isNotFound(err) || isNamespaceTerminating(err)) return reconciled;
      throw err;
    }
  }

  async #sync(key: string, set: ReadDaemonSet, signal: AbortSignal): Promise<ReconcileResult> {
    const owner = claimantOf(set);
    if (selectsEverything(set)) {
      const message = 'This daemon set is selecting all pods. A non-empty selector is required.';
      this.#recorder.event(owner, 'Warning', 'SelectingAll', message);
      return reconciled;
    }
    // What it has is for the garbage collector now.
    if (set.metadata.deletionTimestamp !== undefined) return reconciled;
    const present = await this.#history.claim(owner, selectorOf(set), signal);
    const { revision, revisions, collisionCount } = await this.#history.update(
      owner,
      set.spec.template.metadata.labels ?? {},
      templateData(set.spec.template),
      present,
      set.status.collisionCount ?? 0,
      signal,
    );
    const hash = revision.metadata.labels?.[REVISION_HASH] ?? '';
    const counted: ReadDaemonSet =
      collisionCount === (set.status.collisionCount ?? 0) ? set : { ...set, status: { ...set.status, collisionCount } };
    const mayManage = this.#expectations.satisfiedExpectations(key);
    let again: number | undefined;
    let failure: unknown;
    if (mayManage) ({ again, failure } = await this.#manage(key, await this.#facts(counted, hash, signal), signal));
    const facts = await this.#facts(counted, hash, signal);
    if (failure === undefined && this.#expectations.satisfiedExpectations(key)) {
      await this.#cleanUp(facts, revisions, revision, signal);
    }
    await this.#report(key, set, calculateStatus(facts, mayManage), signal);
    if (failure !== undefined) throw failure;
    const delays = [again, this.#untilAvailable(facts)].flatMap((delay) => delay ?? []);
    if (!this.#expectations.satisfiedExpectations(key)) delays.push(this.#expectations.remainingMs(key));
    return delays.length === 0 ? reconciled : requeueAfter(Math.min(...delays));
  }

  /** What there is of the DaemonSet by now. */
  async #facts(set: ReadDaemonSet, hash: string, signal: AbortSignal): Promise<Facts> {
    const { uid, namespace = '' } = set.metadata;
    const { lister } = this.#pods;
    const near = [...lister.byIndex(BY_CONTROLLER, uid), ...lister.byIndex(BY_CONTROLLER, orphansOf(namespace))];
    const owned = await claim(this.#claims, claimantOf(set), selectorOf(set), near, signal);
    const podsByNode = new Map<string, ReadPod[]>();
    for (const pod of owned) {
      // It has ended, is being deleted, and only a finalizer keeps it: nothing more to be done with it.
      if (isPodTerminal(pod) && pod.metadata.deletionTimestamp !== undefined) continue;
      const node = targetNodeOf(pod);
      if (node === undefined) continue;
      const there = podsByNode.get(node);
      if (there === undefined) podsByNode.set(node, [pod]);
      else there.push(pod);
    }
    return { set, nodes: this.#nodes.lister.list(), podsByNode, hash, nowMs: this.#config.clock.now() };
  }

  async #manage(key: string, facts: Facts, signal: AbortSignal): Promise<{ again?: number | undefined; failure?: unknown }> {
    const { create, remove, failed, succeeded } = planNodes(facts);
    const ended = this.#replaceEnded(facts, failed, succeeded);
    const failure = await this.#carryOut(key, facts, { create, remove: [...remove, ...ended.remove] }, signal);
    const { again } = ended;
    if (failure !== undefined) return { failure, again };
    if (facts.set.spec.updateStrategy.type !== 'RollingUpdate' || !this.#expectations.satisfiedExpectations(key))
      return { again };
    return { again, failure: await this.#carryOut(key, facts, planUpdate(facts), signal) };
  }

  #replaceEnded(
    { set, nowMs }: Facts,
    failed: readonly Ended[],
    succeeded: readonly Ended[],
  ): { readonly remove: readonly ReadPod[]; readonly again: number | undefined } {
    const remove: ReadPod[] = [];
    let again: number | undefined;
    const owner = claimantOf(set);
    for (const { pod, node } of failed) {
      const waitMs = this.#backoff.take(`${set.metadata.uid}/${set.status.observedGeneration ?? 0}/${node}`, nowMs);
      if (waitMs > 0) {
        again = Math.min(again ?? waitMs, waitMs);
        continue;
      }
      const message = `Found failed daemon pod ${objectKey(pod)} on node ${node}, will try to kill it`;
      this.#recorder.event(owner, 'Warning', 'FailedDaemonPod', message);
      remove.push(pod);
    }
    for (const { pod, node } of succeeded) {
      const message = `Found succeeded daemon pod ${objectKey(pod)} on node ${node}, will try to delete it`;
      this.#recorder.event(owner, 'Normal', 'SucceededDaemonPod', message);
      remove.push(pod);
    }
    return { remove, again };
  }

  /** Answers what something failed with; undefined if all went well. */
  async #carryOut(key: string, { set, hash }: Facts, plan: Plan, signal: AbortSignal): Promise<unknown> {
    const { burstReplicas = 250 } = this.#config;
    const create = plan.create.slice(0, burstReplicas);
    const remove = plan.remove.slice(0, burstReplicas);
    if (create.length + remove.length === 0) return undefined;
    const owner = claimantOf(set);
    const reference = newControllerRef(set.metadata, owner);
    this.#expectations.setExpectations(
      key,
      create.length,
      remove.map(({ metadata }) => metadata.uid),
    );
    const names = create.values();
    const { successes, failure } = await slowStartBatch(create.length, 1, async () => {
      await this.#podControl.create(owner, templateFor(set, names.next().value ?? '', hash), reference, signal);
    });
    for (let i = successes; i < create.length; i++) this.#expectations.creationObserved(key);
    const results = await Promise.allSettled(
      remove.map(async (pod) => {
        try {
          await this.#podControl.delete(owner, pod, signal);
        } catch (err) {
          // No event of this deletion will come.
          this.#expectations.deletionObserved(key, pod.metadata.uid);
          if (!apierrors.isNotFound(err)) throw err;
        }
      }),
    );
    if (failure !== undefined && !isNamespaceTerminating(failure)) return failure;
    return results.find((result) => result.status === 'rejected')?.reason;
  }

  /** Old revisions of which there are no pods any more, beyond the limit. */
  async #cleanUp(
    { set, podsByNode }: Facts,
    revisions: readonly ReadRevision[],
    current: ReadRevision,
    signal: AbortSignal,
  ): Promise<void> {
    const hashes = new Set([...podsByNode.values()].flat().map(({ metadata }) => metadata.labels?.[REVISION_HASH]));
    const live = revisions.filter((each) => each === current || hashes.has(each.metadata.labels?.[REVISION_HASH]));
    const names = new Set(live.map(({ metadata }) => metadata.name));
    // Those with pods count too.
    const limit = Math.max(0, (set.spec.revisionHistoryLimit ?? 10) - (live.length - 1));
    for (const revision of beyondLimit(revisions, names, limit)) await this.#history.delete(revision, signal);
  }

  async #report(key: string, set: ReadDaemonSet, status: ReadDaemonSet['status'], signal: AbortSignal): Promise<void> {
    if (semanticEqual(status, set.status)) return;
    const written = await this.#config.client.resource(daemonSets).updateStatus({ ...set, status }, { signal });
    this.#writes.wrote(key, written, this.#sets.lister.getByKey(key));
  }

  /** In how many milliseconds the next pod that is ready is available too. */
  #untilAvailable({ set, podsByNode, nowMs }: Facts): number | undefined {
    const needed = (set.spec.minReadySeconds ?? 0) * 1000;
    const left = [...podsByNode.values()].flat().flatMap((pod) => {
      const since = podReadySince(pod);
      return since === undefined || since + needed <= nowMs ? [] : [since + needed - nowMs];
    });
    return left.length === 0 ? undefined : Math.min(...left);
  }
}

function samePlace(a: ReadNode, b: ReadNode): boolean {
  return semanticEqual(a.metadata.labels, b.metadata.labels) && semanticEqual(a.spec.taints, b.spec.taints);
}

function claimantOf({ metadata }: ReadDaemonSet): Claimant {
  return { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata };
}

function selectorOf({ spec }: ReadDaemonSet): labels.Selector {
  return labels.labelSelectorAsSelector(spec.selector);
}

function selectsEverything({ spec: { selector } }: ReadDaemonSet): boolean {
  return Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0;
}
