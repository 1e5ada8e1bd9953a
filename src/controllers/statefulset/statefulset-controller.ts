// StatefulSets: pods with a stable name, host name and claims, which are created and replaced in
// order.
//
// An ordinal never has two pods: a pod's name is unique, so as long as the old pod exists, even on
// a lost node, the API server rejects a second one. No decision is made before the cache has this
// controller's own writes.

import {
  type ControllerRevision,
  controllerRevisions,
  type StatefulSet,
  statefulSets,
} from '#api/groups/apps/v1/index.ts';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Pod,
  pods,
} from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { type Lister, objectKey, type SharedInformer } from '#client/informers/index.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { ControllerBuilder } from '../builder.ts';
import { claimantOf, selectorOf } from '../claim.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import type { Dependents } from '../dependents.ts';
import {
  beyondLimit,
  History,
  type ReadRevision,
  templateData,
  templateOf,
} from '../history/index.ts';
import { OwnWrites, staleSyncSkips } from '../own-writes.ts';
import { isNamespaceTerminating } from '../pod-control.ts';
import { nextAvailability } from '../replicaset/status.ts';
import { slowStartBatch } from '../slow-start.ts';
import {
  claimsOf,
  newPod,
  ordinalOf,
  podRevision,
  type ReadPod,
  type ReadStatefulSet,
} from './identity.ts';
import { isBelowPartition, plan, type Plan } from './plan.ts';
import { calculateStatus, type ReadStatus } from './status.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;

export interface StatefulSetControllerConfig extends ControllerConfig {
  /** The number of keys that are reconciled at once. Default: 5. */
  readonly workers?: number;
}

const COMPONENT = 'statefulset-controller';

export class StatefulSetController implements Controller {
  readonly name = COMPONENT;
  readonly run: Controller['run'];
  readonly #config: StatefulSetControllerConfig;
  readonly #sets: SharedInformer<ReadStatefulSet>;
  readonly #pods: Dependents<StatefulSet, Pod>;
  readonly #volumeClaims: SharedInformer<ReadClaim>;
  readonly #recorder: EventRecorder;
  readonly #history: History<StatefulSet>;
  readonly #writes: OwnWrites;

  constructor(config: StatefulSetControllerConfig) {
    const { client, clock, workers = 5 } = config;
    this.#config = config;
    const instruments = config.instruments ?? new Instruments();
    const writes = new OwnWrites({
      clock,
      skips: staleSyncSkips(instruments, 'statefulset_controller'),
    });
    this.#writes = writes;
    const builder = new ControllerBuilder(config, {
      queue: 'statefulset',
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder(COMPONENT);
    this.#sets = builder.for(statefulSets, { writes });
    const owner = { ownerType: statefulSets, owners: this.#sets.lister, selectorOf, writes };
    this.#pods = builder.owns<StatefulSet, Pod>(pods, {
      ...owner,
      mayAdopt: (set, pod) => ordinalOf(set, pod) !== undefined,
    });
    const revisions = builder.owns<StatefulSet, ControllerRevision>(controllerRevisions, owner);
    this.#history = new History({ client, ownerType: statefulSets, revisions, writes });
    // The name of a claim identifies its StatefulSet; its owner reference depends on the retention
    // policy.
    this.#volumeClaims = builder.watches(
      persistentVolumeClaims,
      (volumeClaim) => this.#setsWith(volumeClaim),
      {
        onSeen: (volumeClaim) => {
          for (const key of this.#setsWith(volumeClaim)) writes.seen(key, volumeClaim);
        },
        onGone: (volumeClaim) => {
          for (const key of this.#setsWith(volumeClaim)) writes.gone(key, volumeClaim);
        },
      },
    );
    this.run = builder.complete();
  }

  /** Returns the keys of the StatefulSets whose claim templates match the claim's name. */
  #setsWith({ metadata: { name, namespace = '' } }: ReadClaim): readonly string[] {
    return this.#sets.lister
      .list(namespace)
      .filter(({ metadata, spec: { volumeClaimTemplates = [] } }) =>
        volumeClaimTemplates.some((template) =>
          name.startsWith(`${template.metadata.name}-${metadata.name}-`),
        ),
      )
      .map(objectKey);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const set = this.#sets.lister.getByKey(key);
    if (set === undefined) {
      this.#writes.forget(key);
      return reconciled;
    }
    const behindMs = this.#writes.remainingMs(key);
    if (behindMs > 0) return requeueAfter(behindMs);
    try {
      return await this.#sync(key, set, signal);
    } catch (error) {
      // The object was written meanwhile, or the cache does not show the pod yet.
      if (apierrors.isConflict(error) || apierrors.isAlreadyExists(error)) return requeue;
      // The set or its namespace is being deleted.
      if (isNamespaceTerminating(error)) return reconciled;
      throw error;
    }
  }

  async #sync(key: string, set: ReadStatefulSet, signal: AbortSignal): Promise<ReconcileResult> {
    const known = await this.#history.claim(set, signal);
    const owned = await this.#pods.claim(set, signal);
    const { namespace = '' } = set.metadata;

    const isGoing = set.metadata.deletionTimestamp !== undefined;
    const data = templateData(set.spec.template);
    const labelsOf = set.spec.template.metadata.labels ?? {};
    const collisions = set.status.collisionCount ?? 0;
    const history = isGoing
      ? { revision: known.at(-1), revisions: known, collisionCount: collisions }
      : await this.#history.update(set, labelsOf, data, known, collisions, signal);
    const update = history.revision;
    if (update === undefined) return reconciled;
    const current =
      known.find(({ metadata }) => metadata.name === set.status.currentRevision) ?? update;

    const nowMs = this.#config.clock.now();
    const volumeClaim = (name: string): ReadClaim | undefined =>
      this.#volumeClaims.lister.get(namespace, name);
    const wanted = plan({
      set,
      pods: owned,
      claim: volumeClaim,
      updateRevision: update.metadata.name,
      nowMs,
    });
    const names = { current: current.metadata.name, update: update.metadata.name };
    // The status is updated even if some actions failed.
    const doomed = new Set<ReadPod>();
    let failure: unknown;
    try {
      await this.#carryOut(key, set, wanted, { current, update }, doomed, signal);
    } catch (error) {
      failure = error;
    }
    if (signal.aborted) throw failure;
    await this.#report(
      key,
      set,
      calculateStatus(set, owned, doomed, names, history.collisionCount, nowMs),
      signal,
    );
    if (failure !== undefined) throw failure;

    if (!isGoing) {
      const live = new Set([
        ...Object.values(names),
        ...owned.flatMap((pod) => podRevision(pod) ?? []),
      ]);
      for (const revision of beyondLimit(
        history.revisions,
        live,
        set.spec.revisionHistoryLimit ?? 10,
      )) {
        await this.#history.delete(revision, signal);
      }
    }
    const availableInMs = nextAvailability(owned, set.spec.minReadySeconds ?? 0, nowMs);
    return availableInMs === undefined ? reconciled : requeueAfter(availableInMs);
  }

  async #carryOut(
    key: string,
    set: ReadStatefulSet,
    { provide, create, relabel, reclaim, foreign, remove }: Plan,
    revisions: { readonly current: ReadRevision; readonly update: ReadRevision },
    doomed: Set<ReadPod>,
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = this.#config;
    for (const pod of provide)
      await this.#provideClaims(key, set, ordinalOf(set, pod) ?? 0, pod.metadata.name, signal);
    let next = 0;
    const { failure } = await slowStartBatch(create.length, 1, async () => {
      const ordinal = create[next++]!;
      const revision = isBelowPartition(set, ordinal) ? revisions.current : revisions.update;
      await this.#createPod(key, set, ordinal, revision, signal);
    });
    if (failure !== undefined) throw failure;
    for (const pod of relabel) {
      await this.#recorded('update', set, pod.metadata.name, async () => {
        const updated = await client.resource(pods).update(pod, { signal });
        this.#writes.wrote(key, updated, cachedAs(this.#pods, updated));
      });
    }
    for (const name of foreign) {
      const why =
        'has a conflicting OwnerReference that acts as a manging controller, the retention ' +
        'policy is ignored for this claim';
      this.#recorder.event(
        claimantOf(statefulSets, set),
        'Warning',
        'ConflictingController',
        `PersistentVolumeClaim ${name} ${why}`,
      );
    }
    for (const volumeClaim of reclaim) {
      const updated = await client.resource(persistentVolumeClaims).update(volumeClaim, { signal });
      this.#writes.wrote(key, updated, cachedAs(this.#volumeClaims, updated));
    }
    for (const pod of remove) {
      await this.#deletePod(key, set, pod, signal);
      doomed.add(pod);
    }
  }

  async #createPod(
    key: string,
    set: ReadStatefulSet,
    ordinal: number,
    revision: ReadRevision,
    signal: AbortSignal,
  ): Promise<void> {
    const pod = newPod(set, ordinal, templateOf(revision), revision.metadata.name);
    const { name } = pod.metadata;
    await this.#recorded('create', set, name, async () => {
      await this.#provideClaims(key, set, ordinal, name, signal);
      const created = await this.#config.client.resource(pods).create(pod, { signal });
      this.#writes.wrote(key, created, cachedAs(this.#pods, created));
    });
  }

  async #provideClaims(
    key: string,
    set: ReadStatefulSet,
    ordinal: number,
    pod: string,
    signal: AbortSignal,
  ): Promise<void> {
    for (const { claim: wanted } of claimsOf(set, ordinal)) {
      const { name, namespace } = wanted.metadata;
      const present = this.#volumeClaims.lister.get(namespace, name);
      if (present?.metadata.deletionTimestamp !== undefined)
        throw new Error(`pvc ${name} is being deleted`);
      if (present !== undefined) continue;
      try {
        const created = await this.#config.client
          .resource(persistentVolumeClaims)
          .create(wanted, { signal });
        this.#writes.wrote(key, created, cachedAs(this.#volumeClaims, created));
      } catch (error) {
        // The claim exists, and the cache will show it.
        if (apierrors.isAlreadyExists(error)) continue;
        const what = `create Claim ${name} for Pod ${pod} in StatefulSet ${set.metadata.name}`;
        this.#event(
          set,
          'Warning',
          'FailedCreate',
          `${what} failed error: ${errorMessage(error)}`,
          error,
          signal,
        );
        throw new Error(`failed to create PVC ${name}: ${errorMessage(error)}`, { cause: error });
      }
      const message = `create Claim ${name} Pod ${pod} in StatefulSet ${set.metadata.name} success`;
      this.#recorder.event(claimantOf(statefulSets, set), 'Normal', 'SuccessfulCreate', message);
    }
  }

  /** Deletes the pod with this UID, never a new pod with its name. */
  async #deletePod(
    key: string,
    set: ReadStatefulSet,
    pod: ReadPod,
    signal: AbortSignal,
  ): Promise<void> {
    const { name, namespace = '', uid } = pod.metadata;
    await this.#recorded('delete', set, name, async () => {
      let answer: unknown;
      try {
        answer = await this.#config.client
          .resource(pods)
          .namespace(namespace)
          .delete(name, { preconditions: { uid }, signal });
      } catch (error) {
        if (!apierrors.isNotFound(error)) throw error;
      }
      const cached = cachedAs(this.#pods, pod);
      if (isPodOf(answer, uid) && cached !== undefined) this.#writes.wrote(key, answer, cached);
    });
  }

  /** Runs the action, and records its success or failure in an event of the set. */
  async #recorded(
    verb: 'create' | 'update' | 'delete',
    set: ReadStatefulSet,
    pod: string,
    action: () => Promise<void>,
  ): Promise<void> {
    const what = `${verb} Pod ${pod} in StatefulSet ${set.metadata.name}`;
    const reason = { create: 'Create', update: 'Update', delete: 'Delete' }[verb];
    try {
      await action();
    } catch (error) {
      if (!apierrors.isAlreadyExists(error)) {
        this.#event(
          set,
          'Warning',
          `Failed${reason}`,
          `${what} failed error: ${errorMessage(error)}`,
          error,
        );
      }
      throw error;
    }
    this.#recorder.event(
      claimantOf(statefulSets, set),
      'Normal',
      `Successful${reason}`,
      `${what} successful`,
    );
  }

  /**
   * Records an event, unless the failure is due to a terminating namespace or to the end of the
   * controller.
   */
  #event(
    set: ReadStatefulSet,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    err: unknown,
    signal?: AbortSignal,
  ): void {
    if (isNamespaceTerminating(err) || signal?.aborted === true) return;
    this.#recorder.event(claimantOf(statefulSets, set), type, reason, message);
  }

  async #report(
    key: string,
    set: ReadStatefulSet,
    status: ReadStatus,
    signal: AbortSignal,
  ): Promise<void> {
    if (semanticEqual(status, set.status)) return;
    try {
      const updated = await this.#config.client
        .resource(statefulSets)
        .updateStatus({ ...set, status }, { signal });
      this.#writes.wrote(key, updated, this.#sets.lister.getByKey(key));
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
  }
}

function cachedAs<T extends KubeObject>(
  informer: { readonly lister: Lister<T> },
  object: KubeObject,
): T | undefined {
  const cached = informer.lister.getByKey(objectKey(object));
  return cached?.metadata.uid === object.metadata.uid ? cached : undefined;
}

/**
 * Reports whether the response to a deletion is the terminating pod. For a pod that is gone at
 * once, the response is a Status.
 */
function isPodOf(answer: unknown, uid: string): answer is ReadPod {
  return (answer as Partial<ReadPod> | undefined)?.metadata?.uid === uid;
}
