// Deployments: keeps one ReplicaSet for each version of the pod template, and moves pods from old
// ReplicaSets to the new one at the pace that the strategy allows.
//
// One reconcile takes one step (it creates a ReplicaSet, or sizes some) and updates the status; the
// resulting events wake the key again.

import {
  type Deployment,
  deployments,
  type DeploymentStatus,
  type ReplicaSet,
  replicaSets,
} from '#api/groups/apps/v1/index.ts';
import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { deepEqual, semanticEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { ControllerBuilder } from '../builder.ts';
import { claimantOf, selectorOf, selectsEverything } from '../claim.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { BY_CONTROLLER, byController, controllerOf, isControlledBy } from '../controller-ref.ts';
import type { Dependents } from '../dependents.ts';
import { OwnWrites } from '../own-writes.ts';
import { isNamespaceTerminating } from '../pod-control.ts';
import { isPodTerminal } from '../pod-state.ts';
import {
  annotatedSize,
  annotationsOf,
  beyondHistory,
  DESIRED_REPLICAS,
  greatestRevision,
  MAX_REPLICAS,
  newReplicaSet,
  type NewReplicaSet,
  REVISION,
  revisionOf,
  type Rollout,
  rolloutOf,
  sameTemplate,
  sizeAnnotations,
} from './replica-sets.ts';
import {
  desiredPods,
  isRollingUpdate,
  newReplicaSetSize,
  replicasOf,
  scaleInProportion,
  shrinkOld,
} from './sizes.ts';
import {
  calculateStatus,
  type ConditionNews,
  conditionOf,
  hasDeadline,
  isComplete,
  rolloutStatus,
  untilDeadline,
  withCondition,
} from './status.ts';

type ReadDeployment = Immutable<Deployment>;
type ReadReplicaSet = Immutable<ReplicaSet>;
type ReadStatus = Immutable<DeploymentStatus>;

export interface DeploymentControllerConfig extends ControllerConfig {
  /**
   * The number of keys that are reconciled at once. Default: 32, because a reconcile spends most of
   * its time waiting for writes.
   */
  readonly workers?: number;
}

const COMPONENT = 'deployment-controller';

export class DeploymentController implements Controller {
  readonly name = COMPONENT;
  readonly run: Controller['run'];
  readonly #config: DeploymentControllerConfig;
  readonly #deployments: SharedInformer<ReadDeployment>;
  readonly #sets: Dependents<Deployment, ReplicaSet>;
  readonly #pods: SharedInformer<Immutable<Pod>>;
  readonly #recorder: EventRecorder;
  readonly #writes: OwnWrites;

  constructor(config: DeploymentControllerConfig) {
    const { clock, workers = 32 } = config;
    this.#config = config;
    const writes = new OwnWrites({ clock });
    this.#writes = writes;
    const builder = new ControllerBuilder(config, {
      queue: 'deployment',
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder(COMPONENT);
    this.#deployments = builder.for(deployments, { writes });
    this.#sets = builder.owns<Deployment, ReplicaSet>(replicaSets, {
      ownerType: deployments,
      owners: this.#deployments.lister,
      selectorOf,
      writes,
    });
    this.#pods = builder.watches(pods, (pod) => this.#recreatedBy(pod), {
      indexers: { [BY_CONTROLLER]: byController },
      predicate: { add: false, update: false },
    });
    this.run = builder.complete();
  }

  /**
   * Returns the key of the Deployment to which the pod belongs, if its strategy is Recreate: it
   * waits for the last of the old pods.
   */
  #recreatedBy(pod: Immutable<Pod>): string | undefined {
    const reference = controllerOf(pod);
    if (reference === undefined || reference.kind !== 'ReplicaSet') return undefined;
    const set = this.#sets.lister.get(pod.metadata.namespace ?? '', reference.name);
    const owner =
      set === undefined || set.metadata.uid !== reference.uid ? undefined : this.#sets.ownerOf(set);
    return owner === undefined || isRollingUpdate(owner) ? undefined : objectKey(owner);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const deployment = this.#deployments.lister.getByKey(key);
    if (deployment === undefined) {
      this.#writes.forget(key);
      return reconciled;
    }
    const behindMs = this.#writes.remainingMs(key);
    if (behindMs > 0) return requeueAfter(behindMs);
    try {
      return await new Reconcile(this.#work(key, signal), deployment).run();
    } catch (error) {
      // Another writer was first, so the next state in the cache decides; or the hash collided, and
      // the next reconcile uses another one.
      if (apierrors.isConflict(error) || apierrors.isAlreadyExists(error)) return requeue;
      // The Deployment or its namespace is being deleted.
      if (apierrors.isNotFound(error) || isNamespaceTerminating(error)) return reconciled;
      throw error;
    }
  }

  #work(key: string, signal: AbortSignal): Work {
    const { client, clock } = this.#config;
    return {
      nowMs: clock.now(),
      event: (deployment, type, reason, message) =>
        this.#recorder.event(claimantOf(deployments, deployment), type, reason, message),
      claimed: (deployment) => this.#sets.claim(deployment, signal),
      podsOf: (set) => this.#pods.lister.byIndex(BY_CONTROLLER, set.metadata.uid),
      createSet: async (set) => {
        const created = await client.resource(replicaSets).create(set, { signal });
        return this.#wroteSet(key, created);
      },
      getSet: (namespace, name) =>
        client.resource(replicaSets).namespace(namespace).get(name, { signal }),
      updateSet: async (set) => {
        const updated = await client.resource(replicaSets).update(set, { signal });
        return this.#wroteSet(key, updated);
      },
      deleteSet: async ({ metadata: { name, namespace = '', uid, resourceVersion } }) => {
        // The precondition keeps a ReplicaSet that got pods meanwhile.
        const preconditions = { uid, resourceVersion };
        await client
          .resource(replicaSets)
          .namespace(namespace)
          .delete(name, { preconditions, signal });
      },
      updateStatus: async (deployment) => {
        const updated = await client.resource(deployments).updateStatus(deployment, { signal });
        this.#writes.wrote(key, updated, this.#deployments.lister.getByKey(key));
        return updated;
      },
    };
  }

  #wroteSet(key: string, set: ReadReplicaSet): ReadReplicaSet {
    this.#writes.wrote(key, set, this.#sets.lister.getByKey(objectKey(set)));
    return set;
  }
}

/** The state and operations of one reconcile. */
interface Work {
  readonly nowMs: number;
  event(
    deployment: ReadDeployment,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): void;
  claimed(deployment: ReadDeployment): Promise<readonly ReadReplicaSet[]>;
  podsOf(set: ReadReplicaSet): readonly Immutable<Pod>[];
  createSet(set: NewReplicaSet): Promise<ReadReplicaSet>;
  getSet(namespace: string, name: string): Promise<ReadReplicaSet>;
  updateSet(set: ReadReplicaSet): Promise<ReadReplicaSet>;
  deleteSet(set: ReadReplicaSet): Promise<void>;
  updateStatus(deployment: ReadDeployment): Promise<ReadDeployment>;
}

/** One reconcile of one Deployment. */
class Reconcile {
  readonly #work: Work;
  #deployment: ReadDeployment;
  /** The ReplicaSets, including the writes of this reconcile. */
  #sets: ReadReplicaSet[] = [];

  constructor(work: Work, deployment: ReadDeployment) {
    this.#work = work;
    this.#deployment = deployment;
  }

  async run(): Promise<ReconcileResult> {
    if (selectsEverything(this.#deployment)) {
      const message = 'This deployment is selecting all pods. A non-empty selector is required.';
      this.#work.event(this.#deployment, 'Warning', 'SelectingAll', message);
      const { generation } = this.#deployment.metadata;
      await this.#report({
        ...this.#deployment.status,
        ...(generation !== undefined && { observedGeneration: generation }),
      });
      return reconciled;
    }
    this.#sets = [...(await this.#work.claimed(this.#deployment))];
    if (this.#deployment.metadata.deletionTimestamp !== undefined) {
      await this.#report(calculateStatus(this.#deployment, this.#rollout, this.#work.nowMs));
      return reconciled;
    }
    await this.#notePausing();
    if (this.#deployment.spec.paused === true || this.#wasScaled()) {
      await this.#scale();
      return reconciled;
    }
    if (isRollingUpdate(this.#deployment)) await this.#rollingUpdate();
    else await this.#recreate();
    const status = rolloutStatus(this.#deployment, this.#rollout, this.#work.nowMs);
    await this.#report(status);
    const deadlineMs = untilDeadline(this.#deployment, status, this.#work.nowMs);
    return deadlineMs === undefined ? reconciled : requeueAfter(deadlineMs);
  }

  get #rollout(): Rollout {
    return rolloutOf(this.#deployment, this.#sets);
  }

  /**
   * Records that the Deployment is paused. The time of a pause does not count as time without
   * progress.
   */
  async #notePausing(): Promise<void> {
    if (!hasDeadline(this.#deployment)) return;
    const progressing = conditionOf(this.#deployment.status, 'Progressing');
    if (progressing?.reason === 'ProgressDeadlineExceeded') return;
    const noted = progressing?.reason === 'DeploymentPaused';
    const paused = this.#deployment.spec.paused === true;
    if (paused === noted) return;
    await this.#note({
      type: 'Progressing',
      status: 'Unknown',
      reason: paused ? 'DeploymentPaused' : 'DeploymentResumed',
      message: paused ? 'Deployment is paused' : 'Deployment is resumed',
    });
  }

  /** Reports whether some ReplicaSet with pods was sized for another number of replicas. */
  #wasScaled(): boolean {
    return this.#active(this.#sets).some((set) => {
      const desired = annotatedSize(set, DESIRED_REPLICAS);
      return desired !== undefined && desired !== replicasOf(this.#deployment);
    });
  }

  #active(sets: readonly ReadReplicaSet[]): readonly ReadReplicaSet[] {
    return sets.filter((set) => replicasOf(set) > 0);
  }

  /** Sizes the ReplicaSets without moving pods from one template to another. */
  async #scale(): Promise<void> {
    if (this.#rollout.fresh !== undefined) await this.#bringUpToDate(this.#rollout.fresh);
    const { fresh, old } = this.#rollout;
    for (const { set, size } of this.#sizesWhenScaled(fresh, old)) await this.#resize(set, size);
    if (this.#deployment.spec.paused === true) await this.#cleanUp();
    await this.#report(calculateStatus(this.#deployment, this.#rollout, this.#work.nowMs));
  }

  #sizesWhenScaled(
    fresh: ReadReplicaSet | undefined,
    old: readonly ReadReplicaSet[],
  ): readonly { readonly set: ReadReplicaSet; readonly size: number }[] {
    const all = fresh === undefined ? old : [...old, fresh];
    const active = this.#active(all);
    const replicas = replicasOf(this.#deployment);
    if (active.length <= 1) {
      const only = active[0] ?? fresh ?? old.at(-1);
      return only === undefined ? [] : [{ set: only, size: replicas }];
    }
    const saturated =
      fresh !== undefined &&
      replicasOf(fresh) === replicas &&
      annotatedSize(fresh, DESIRED_REPLICAS) === replicas &&
      (fresh.status.availableReplicas ?? 0) === replicas;
    if (saturated) return this.#active(old).map((set) => ({ set, size: 0 }));
    if (!isRollingUpdate(this.#deployment)) return [];
    return scaleInProportion(this.#deployment, active, (set) => annotatedSize(set, MAX_REPLICAS));
  }

  async #rollingUpdate(): Promise<void> {
    const fresh = await this.#newSet();
    const replicas = replicasOf(this.#deployment);
    const size = replicasOf(fresh);
    const wanted =
      size > replicas ? replicas : newReplicaSetSize(this.#deployment, this.#sets, size);
    if (wanted !== size) {
      await this.#resize(fresh, wanted);
      return;
    }
    const active = this.#active(this.#rollout.old);
    if (desiredPods(active) > 0) {
      const resizes = shrinkOld(this.#deployment, active, fresh);
      for (const resize of resizes) await this.#resize(resize.set, resize.size);
      if (resizes.length > 0) return;
    }
    await this.#cleanUpWhenDone();
  }

  async #recreate(): Promise<void> {
    if (this.#rollout.fresh !== undefined) await this.#bringUpToDate(this.#rollout.fresh);
    const active = this.#active(this.#rollout.old);
    if (active.length > 0) {
      for (const set of active) await this.#resize(set, 0);
      return;
    }
    // A deleted pod may still run, and so may a pod in phase Unknown.
    const { old } = this.#rollout;
    const running = old.some(
      (set) => set.status.replicas > 0 || this.#work.podsOf(set).some((pod) => !isPodTerminal(pod)),
    );
    if (running) return;
    const fresh = await this.#newSet();
    await this.#resize(fresh, replicasOf(this.#deployment));
    await this.#cleanUpWhenDone();
  }

  /** Returns the ReplicaSet of the current template. Creates it if it does not exist. */
  async #newSet(): Promise<ReadReplicaSet> {
    const { fresh } = this.#rollout;
    return fresh === undefined ? this.#makeNewSet() : this.#bringUpToDate(fresh);
  }

  /**
   * Writes annotations, revision and minReadySeconds of the new ReplicaSet, and the matching status
   * of the Deployment.
   */
  async #bringUpToDate(fresh: ReadReplicaSet): Promise<ReadReplicaSet> {
    const revision = greatestRevision(this.#rollout.old) + 1n;
    const present = fresh.metadata.annotations ?? {};
    const annotations = annotationsOf(this.#deployment, present, revision);
    const { minReadySeconds } = this.#deployment.spec;
    if (
      !deepEqual(annotations, present) ||
      (fresh.spec.minReadySeconds ?? 0) !== (minReadySeconds ?? 0)
    ) {
      const { minReadySeconds: _, ...spec } = fresh.spec;
      return this.#updateSet({
        ...fresh,
        metadata: { ...fresh.metadata, annotations },
        spec: { ...spec, ...(minReadySeconds !== undefined && { minReadySeconds }) },
      });
    }
    const found =
      conditionOf(this.#deployment.status, 'Progressing') === undefined &&
      hasDeadline(this.#deployment);
    const message = `Found new replica set "${fresh.metadata.name}"`;
    await this.#noteRevision(
      revisionOf(fresh),
      found
        ? { type: 'Progressing', status: 'True', reason: 'FoundNewReplicaSet', message }
        : undefined,
    );
    return fresh;
  }

  async #makeNewSet(): Promise<ReadReplicaSet> {
    const revision = greatestRevision(this.#sets) + 1n;
    const size = newReplicaSetSize(this.#deployment, this.#sets, 0);
    const made = newReplicaSet(this.#deployment, revision, size);
    const { name } = made.metadata;
    let created: ReadReplicaSet;
    try {
      created = await this.#work.createSet(made);
    } catch (error) {
      if (apierrors.isAlreadyExists(error)) return this.#useOrCollide(name, revision);
      if (isNamespaceTerminating(error)) throw error;
      const message = `Failed to create new replica set "${name}": ${errorMessage(error)}`;
      if (hasDeadline(this.#deployment)) {
        await this.#note({
          type: 'Progressing',
          status: 'False',
          reason: 'ReplicaSetCreateError',
          message,
        });
      }
      this.#work.event(this.#deployment, 'Warning', 'ReplicaSetCreateError', message);
      throw error;
    }
    this.#sets.push(created);
    if (size > 0) {
      this.#work.event(
        this.#deployment,
        'Normal',
        'ScalingReplicaSet',
        `Scaled up replica set ${name} from 0 to ${size}`,
      );
    }
    const message = `Created new replica set "${name}"`;
    await this.#noteRevision(
      revision,
      hasDeadline(this.#deployment)
        ? { type: 'Progressing', status: 'True', reason: 'NewReplicaSetCreated', message }
        : undefined,
    );
    return created;
  }

  /**
   * Handles a taken name: the ReplicaSet may be missing in the cache, or belong to another template
   * with the same hash.
   */
  async #useOrCollide(name: string, revision: bigint): Promise<ReadReplicaSet> {
    const taken = await this.#work.getSet(this.#deployment.metadata.namespace ?? '', name);
    if (
      isControlledBy(taken, this.#deployment) &&
      sameTemplate(this.#deployment.spec.template, taken.spec.template)
    ) {
      this.#sets = [
        ...this.#sets.filter(({ metadata }) => metadata.uid !== taken.metadata.uid),
        taken,
      ];
      await this.#noteRevision(revision, undefined);
      return taken;
    }
    const collisionCount = (this.#deployment.status.collisionCount ?? 0) + 1;
    await this.#report({ ...this.#deployment.status, collisionCount });
    // The increased collision count leads to another name.
    throw apierrors.alreadyExists({ group: 'apps', resource: 'replicasets' }, name);
  }

  async #resize(set: ReadReplicaSet, size: number): Promise<void> {
    const before = replicasOf(set);
    const annotations = { ...set.metadata.annotations, ...sizeAnnotations(this.#deployment) };
    if (size === before && deepEqual(annotations, set.metadata.annotations)) return;
    await this.#updateSet({
      ...set,
      metadata: { ...set.metadata, annotations },
      spec: { ...set.spec, replicas: size },
    });
    if (size === before) return;
    const message =
      `Scaled ${size > before ? 'up' : 'down'} replica set ${set.metadata.name} from ${before} ` +
      `to ${size}`;
    this.#work.event(this.#deployment, 'Normal', 'ScalingReplicaSet', message);
  }

  async #updateSet(set: ReadReplicaSet): Promise<ReadReplicaSet> {
    const updated = await this.#work.updateSet(set);
    this.#sets = this.#sets.map((known) =>
      known.metadata.uid === updated.metadata.uid ? updated : known,
    );
    return updated;
  }

  async #cleanUpWhenDone(): Promise<void> {
    if (isComplete(this.#deployment, this.#deployment.status)) await this.#cleanUp();
  }

  async #cleanUp(): Promise<void> {
    for (const set of beyondHistory(this.#deployment, this.#rollout.old)) {
      try {
        await this.#work.deleteSet(set);
      } catch (error) {
        if (!apierrors.isNotFound(error)) throw error;
      }
      this.#sets = this.#sets.filter((known) => known !== set);
    }
  }

  /** Sets the Deployment's revision to the revision of its new ReplicaSet. */
  async #noteRevision(revision: bigint, news: ConditionNews | undefined): Promise<void> {
    const { metadata } = this.#deployment;
    const status =
      news === undefined
        ? this.#deployment.status
        : withCondition(this.#deployment.status, news, this.#work.nowMs);
    if (metadata.annotations?.[REVISION] === String(revision) && status === this.#deployment.status)
      return;
    const annotations = { ...metadata.annotations, [REVISION]: String(revision) };
    this.#deployment = await this.#work.updateStatus({
      ...this.#deployment,
      metadata: { ...metadata, annotations },
      status,
    });
  }

  async #note(news: ConditionNews): Promise<void> {
    await this.#report(withCondition(this.#deployment.status, news, this.#work.nowMs));
  }

  async #report(status: ReadStatus): Promise<void> {
    if (semanticEqual(status, this.#deployment.status)) return;
    this.#deployment = await this.#work.updateStatus({ ...this.#deployment, status });
  }
}
