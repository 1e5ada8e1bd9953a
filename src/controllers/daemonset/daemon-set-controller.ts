// DaemonSets: runs one pod on each eligible node, and replaces pods at the pace that the update
// strategy allows.

import {
  type ControllerRevision,
  controllerRevisions,
  type DaemonSet,
  daemonSets,
} from '#api/groups/apps/v1/index.ts';
import { type Node, nodes, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { ControllerExpectations } from '#client/expectations.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { ControllerBuilder } from '../builder.ts';
import { claimantOf, selectorOf, selectsEverything } from '../claim.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { newControllerRef } from '../controller-ref.ts';
import type { Dependents } from '../dependents.ts';
import {
  beyondLimit,
  History,
  type ReadRevision,
  REVISION_HASH,
  templateData,
} from '../history/index.ts';
import { OwnWrites, staleSyncSkips } from '../own-writes.ts';
import { isNamespaceTerminating, PodControl } from '../pod-control.ts';
import { isPodTerminal, podReadySince } from '../pod-state.ts';
import { slowStartBatch } from '../slow-start.ts';
import {
  calculateStatus,
  type Ended,
  type Facts,
  type Plan,
  planNodes,
  planUpdate,
} from './decisions.ts';
import { FailureBackoff } from './failure-backoff.ts';
import { placementOn, targetNodeOf, templateFor } from './placement.ts';

type ReadDaemonSet = Immutable<DaemonSet>;
type ReadNode = Immutable<Node>;
type ReadPod = Immutable<Pod>;

export interface DaemonSetControllerConfig extends ControllerConfig {
  /** The number of keys that are reconciled at once. Default: 2. */
  readonly workers?: number;
  /** The maximum number of pods that one reconcile creates, and that it deletes. Default: 250. */
  readonly burstReplicas?: number;
}

const COMPONENT = 'daemonset-controller';

export class DaemonSetController implements Controller {
  readonly name = COMPONENT;
  readonly run: Controller['run'];
  readonly #config: DaemonSetControllerConfig;
  readonly #sets: SharedInformer<ReadDaemonSet>;
  readonly #pods: Dependents<DaemonSet, Pod>;
  readonly #nodes: SharedInformer<ReadNode>;
  readonly #recorder: EventRecorder;
  readonly #podControl: PodControl;
  readonly #history: History<DaemonSet>;
  readonly #expectations: ControllerExpectations;
  readonly #writes: OwnWrites;
  readonly #backoff = new FailureBackoff();

  constructor(config: DaemonSetControllerConfig) {
    const { client, clock, workers = 2 } = config;
    this.#config = config;
    const expectations = new ControllerExpectations({ clock });
    this.#expectations = expectations;
    const instruments = config.instruments ?? new Instruments();
    const writes = new OwnWrites({
      clock,
      skips: staleSyncSkips(instruments, 'daemonset_controller'),
    });
    this.#writes = writes;
    const builder = new ControllerBuilder(config, {
      queue: 'daemonset',
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder(COMPONENT);
    this.#podControl = new PodControl({ client, recorder: this.#recorder });
    this.#sets = builder.for(daemonSets, {
      expectations,
      writes,
      predicate: { delete: false },
      onGone: ({ metadata }) => this.#backoff.forget(metadata.uid),
    });
    const owner = { ownerType: daemonSets, owners: this.#sets.lister, selectorOf };
    this.#pods = builder.owns<DaemonSet, Pod>(pods, { ...owner, expectations });
    const revisions = builder.owns<DaemonSet, ControllerRevision>(controllerRevisions, {
      ...owner,
      writes,
    });
    this.#history = new History({
      client,
      ownerType: daemonSets,
      revisions,
      hashLabel: REVISION_HASH,
      writes,
    });
    this.#nodes = builder.watches(nodes, (node, before) => this.#setsPlacedAnew(before, node), {
      // Heartbeats do not change the placement.
      predicate: { update: (before, node) => !samePlace(before, node) },
    });
    this.run = builder.complete();
  }

  /**
   * Returns the keys of the DaemonSets for which the update changes whether their pod belongs on
   * the node; all without an update.
   */
  #setsPlacedAnew(before: ReadNode | undefined, node: ReadNode): readonly string[] {
    return this.#sets.lister.list().flatMap((set) => {
      if (before === undefined) return objectKey(set);
      const [then, now] = [placementOn(before, set), placementOn(node, set)];
      const isSame =
        then.shouldRun === now.shouldRun &&
        then.shouldContinueRunning === now.shouldContinueRunning;
      return isSame ? [] : objectKey(set);
    });
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const set = this.#sets.lister.getByKey(key);
    if (set === undefined) return reconciled;
    const behindMs = this.#writes.remainingMs(key);
    if (behindMs > 0) return requeueAfter(behindMs);
    try {
      return await this.#sync(key, set, signal);
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      // The DaemonSet or its namespace is being deleted.
      if (apierrors.isNotFound(error) || isNamespaceTerminating(error)) return reconciled;
      throw error;
    }
  }

  async #sync(key: string, set: ReadDaemonSet, signal: AbortSignal): Promise<ReconcileResult> {
    if (selectsEverything(set)) {
      const message = 'This daemon set is selecting all pods. A non-empty selector is required.';
      this.#recorder.event(claimantOf(daemonSets, set), 'Warning', 'SelectingAll', message);
      return reconciled;
    }
    // The garbage collector deletes its dependents.
    if (set.metadata.deletionTimestamp !== undefined) return reconciled;
    const present = await this.#history.claim(set, signal);
    const { revision, revisions, collisionCount } = await this.#history.update(
      set,
      set.spec.template.metadata.labels ?? {},
      templateData(set.spec.template),
      present,
      set.status.collisionCount ?? 0,
      signal,
    );
    const hash = revision.metadata.labels?.[REVISION_HASH] ?? '';
    const counted: ReadDaemonSet =
      collisionCount === (set.status.collisionCount ?? 0)
        ? set
        : { ...set, status: { ...set.status, collisionCount } };
    const mayManage = this.#expectations.satisfiedExpectations(key);
    let again: number | undefined;
    let failure: unknown;
    if (mayManage)
      ({ again, failure } = await this.#manage(
        key,
        await this.#facts(counted, hash, signal),
        signal,
      ));
    const facts = await this.#facts(counted, hash, signal);
    if (failure === undefined && this.#expectations.satisfiedExpectations(key)) {
      await this.#cleanUp(facts, revisions, revision, signal);
    }
    await this.#report(key, set, calculateStatus(facts, mayManage), signal);
    if (failure !== undefined) throw failure;
    const delays = [again, this.#untilAvailable(facts)].flatMap((delay) => delay ?? []);
    if (!this.#expectations.satisfiedExpectations(key))
      delays.push(this.#expectations.remainingMs(key));
    return delays.length === 0 ? reconciled : requeueAfter(Math.min(...delays));
  }

  /** Returns the present state of the DaemonSet: its pods by node, and the nodes. */
  async #facts(set: ReadDaemonSet, hash: string, signal: AbortSignal): Promise<Facts> {
    const owned = await this.#pods.claim(set, signal);
    const podsByNode = new Map<string, ReadPod[]>();
    for (const pod of owned) {
      // A pod that has ended and is being deleted is held by a finalizer only: there is nothing
      // left to do.
      if (isPodTerminal(pod) && pod.metadata.deletionTimestamp !== undefined) continue;
      const node = targetNodeOf(pod);
      if (node === undefined) continue;
      const there = podsByNode.get(node);
      if (there === undefined) podsByNode.set(node, [pod]);
      else there.push(pod);
    }
    return {
      set,
      nodes: this.#nodes.lister.list(),
      podsByNode,
      hash,
      nowMs: this.#config.clock.now(),
    };
  }

  async #manage(
    key: string,
    facts: Facts,
    signal: AbortSignal,
  ): Promise<{ again?: number | undefined; failure?: unknown }> {
    const { create, remove, failed, succeeded } = planNodes(facts);
    const ended = this.#replaceEnded(facts, failed, succeeded);
    const failure = await this.#carryOut(
      key,
      facts,
      { create, remove: [...remove, ...ended.remove] },
      signal,
    );
    const { again } = ended;
    if (failure !== undefined) return { failure, again };
    if (
      facts.set.spec.updateStrategy.type !== 'RollingUpdate' ||
      !this.#expectations.satisfiedExpectations(key)
    )
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
    const owner = claimantOf(daemonSets, set);
    for (const { pod, node } of failed) {
      const waitMs = this.#backoff.take(
        `${set.metadata.uid}/${set.status.observedGeneration ?? 0}/${node}`,
        nowMs,
      );
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

  /**
   * Creates and deletes pods by the plan. Returns the first error; undefined if all writes
   * succeeded.
   */
  async #carryOut(
    key: string,
    { set, hash }: Facts,
    plan: Plan,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { burstReplicas = 250 } = this.#config;
    const create = plan.create.slice(0, burstReplicas);
    const remove = plan.remove.slice(0, burstReplicas);
    if (create.length + remove.length === 0) return undefined;
    const owner = claimantOf(daemonSets, set);
    const reference = newControllerRef(set.metadata, owner);
    this.#expectations.setExpectations(
      key,
      create.length,
      remove.map(({ metadata }) => metadata.uid),
    );
    const names = create.values();
    const { successes, failure } = await slowStartBatch(create.length, 1, async () => {
      await this.#podControl.create(
        owner,
        templateFor(set, names.next().value ?? '', hash),
        reference,
        signal,
      );
    });
    for (let i = successes; i < create.length; i++) this.#expectations.creationObserved(key);
    const results = await Promise.allSettled(
      remove.map(async (pod) => {
        try {
          await this.#podControl.delete(owner, pod, signal);
        } catch (error) {
          // No event of this deletion will come.
          this.#expectations.deletionObserved(key, pod.metadata.uid);
          if (!apierrors.isNotFound(error)) throw error;
        }
      }),
    );
    if (failure !== undefined && !isNamespaceTerminating(failure)) return failure;
    return results.find((result) => result.status === 'rejected')?.reason;
  }

  /** Deletes revisions without pods beyond the history limit, the oldest first. */
  async #cleanUp(
    { set, podsByNode }: Facts,
    revisions: readonly ReadRevision[],
    current: ReadRevision,
    signal: AbortSignal,
  ): Promise<void> {
    const hashes = new Set(
      [...podsByNode.values()].flat().map(({ metadata }) => metadata.labels?.[REVISION_HASH]),
    );
    const live = revisions.filter(
      (each) => each === current || hashes.has(each.metadata.labels?.[REVISION_HASH]),
    );
    const names = new Set(live.map(({ metadata }) => metadata.name));
    // A revision that pods still use counts towards the limit, but is never deleted.
    const limit = Math.max(0, (set.spec.revisionHistoryLimit ?? 10) - (live.length - 1));
    for (const revision of beyondLimit(revisions, names, limit))
      await this.#history.delete(revision, signal);
  }

  async #report(
    key: string,
    set: ReadDaemonSet,
    status: ReadDaemonSet['status'],
    signal: AbortSignal,
  ): Promise<void> {
    if (semanticEqual(status, set.status)) return;
    const written = await this.#config.client
      .resource(daemonSets)
      .updateStatus({ ...set, status }, { signal });
    this.#writes.wrote(key, written, this.#sets.lister.getByKey(key));
  }

  /** Returns in how many milliseconds the next ready pod becomes available. */
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
  return (
    semanticEqual(a.metadata.labels, b.metadata.labels) &&
    semanticEqual(a.spec.taints, b.spec.taints)
  );
}
