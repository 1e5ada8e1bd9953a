// Deletes pods that use devices with a NoExecute taint that their claims do not tolerate, or
// tolerate no longer. Drivers publish taints in ResourceSlices.

import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type DeviceTaint,
  type ResourceClaim,
  resourceClaims,
  type ResourceSlice,
  resourceSlices,
} from '#api/groups/resource/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { EvictionMetrics } from '../eviction-metrics.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { controllerOf } from '../controller-ref.ts';
import { deleteDisrupted } from '../delete-disrupted.ts';
import { disruptionTarget } from '../disruption-target.ts';
import { isPodTerminal } from '../pod-state.ts';
import { type AllocatedDevice, claimEvictionTime } from './decision.ts';

type ReadPod = Immutable<Pod>;
type ReadClaim = Immutable<ResourceClaim>;
type ReadSlice = Immutable<ResourceSlice>;
type ReadTaint = Immutable<DeviceTaint>;

export interface DeviceTaintEvictionConfig extends ControllerConfig {
  /** The number of pods that are reconciled at once. Default: 10. */
  readonly workers?: number;
}

const NAME = 'device-taint-eviction-controller';
const BY_POOL = 'device-pool';
const NONE: readonly ReadTaint[] = [];

const poolKey = (driver: string, pool: string): string => `${driver}/${pool}`;
const poolOf = ({ spec }: ReadSlice): string => poolKey(spec.driver, spec.pool.name);

export class DeviceTaintEvictionController implements Controller {
  readonly name = NAME;
  readonly run: Controller['run'];
  readonly #config: DeviceTaintEvictionConfig;
  readonly #pods: SharedInformer<ReadPod>;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #slices: SharedInformer<ReadSlice>;
  readonly #recorder: EventRecorder;
  readonly #metrics: EvictionMetrics;
  /** By key: the UIDs of pods with a future eviction time. */
  readonly #due = new Map<string, string>();

  constructor(config: DeviceTaintEvictionConfig) {
    const { workers = 10 } = config;
    this.#config = config;
    this.#metrics = new EvictionMetrics(
      'device_taint_eviction_controller',
      'From when a pod had to leave its devices to its deletion.',
      config.instruments,
    );
    const builder = new ControllerBuilder(config, {
      queue: NAME,
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder(NAME);
    this.#pods = builder.for(pods, {
      predicate: {
        add: usesClaims,
        update: (before, pod) =>
          usesClaims(pod) &&
          (before.spec.nodeName !== pod.spec.nodeName ||
            !semanticEqual(before.status.resourceClaimStatuses, pod.status.resourceClaimStatuses)),
        delete: false,
      },
      onGone: (pod) => void this.#due.delete(objectKey(pod)),
    });
    this.#claims = builder.watches(resourceClaims, usersOf, {
      indexers: {
        [BY_POOL]: ({ status }) => [
          ...new Set(
            status.allocation?.devices?.results?.map(({ driver, pool }) => poolKey(driver, pool)),
          ),
        ],
      },
      maps: 'both',
    });
    this.#slices = builder.watches(
      resourceSlices,
      (slice) => this.#claims.lister.byIndex(BY_POOL, poolOf(slice)).flatMap(usersOf),
      {
        indexers: { [BY_POOL]: (slice) => [poolOf(slice)] },
        predicate: {
          update: (before, slice) =>
            poolOf(before) !== poolOf(slice) ||
            before.spec.pool.generation !== slice.spec.pool.generation ||
            !semanticEqual(taintsIn(before), taintsIn(slice)),
        },
        maps: 'both',
      },
    );
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const pod = this.#pods.lister.getByKey(key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod)) {
      this.#due.delete(key);
      return reconciled;
    }
    const at = this.#evictionTime(pod);
    const isDue = this.#due.get(key) === pod.metadata.uid;
    if (at === undefined) {
      this.#due.delete(key);
      if (isDue) this.#event(pod, 'Cancelling deletion');
      return reconciled;
    }
    const leftMs = at - this.#config.clock.now();
    if (leftMs <= 0) return await this.#evict(key, pod, at, signal);
    this.#due.set(key, pod.metadata.uid);
    return requeueAfter(leftMs);
  }

  /**
   * Returns the earliest eviction time by all claims of the pod, in milliseconds since the epoch;
   * undefined if never.
   */
  #evictionTime(pod: ReadPod): number | undefined {
    if ((pod.spec.nodeName ?? '') === '') return undefined;
    const times = this.#claimsOf(pod).flatMap(
      (claim) => claimEvictionTime(claim, (device) => this.#taintsOf(device)) ?? [],
    );
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Returns the claims that are reserved for the pod. */
  #claimsOf({ metadata, spec, status }: ReadPod): readonly ReadClaim[] {
    return (spec.resourceClaims ?? []).flatMap(({ name, resourceClaimName }) => {
      const made = status.resourceClaimStatuses?.find(
        (one) => one.name === name,
      )?.resourceClaimName;
      const claimName = resourceClaimName ?? made;
      const claim =
        claimName === undefined
          ? undefined
          : this.#claims.lister.get(metadata.namespace ?? '', claimName);
      if (claim === undefined) return [];
      // A claim from a template must be controlled by this pod.
      const isOwn = resourceClaimName !== undefined || controllerOf(claim)?.uid === metadata.uid;
      return isOwn && claim.status.reservedFor?.some(({ uid }) => uid === metadata.uid) === true
        ? [claim]
        : [];
    });
  }

  /** Returns the device's taints. Slices of earlier pool generations do not count. */
  #taintsOf({ driver, pool, device }: AllocatedDevice): readonly ReadTaint[] {
    const slices = this.#slices.lister.byIndex(BY_POOL, poolKey(driver, pool));
    const newest = Math.max(...slices.map(({ spec }) => spec.pool.generation));
    for (const { spec } of slices) {
      if (spec.pool.generation !== newest) continue;
      const found = spec.devices?.find(({ name }) => name === device);
      if (found !== undefined) return found.taints ?? NONE;
    }
    return NONE;
  }

  /** Evicts the pod. `dueMs`: since when the eviction is due, milliseconds since the epoch. */
  async #evict(
    key: string,
    pod: ReadPod,
    dueMs: number,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { client, clock, logger } = this.#config;
    const why = 'Device Taint manager: deleting due to NoExecute taint';
    const condition = disruptionTarget(pod, 'DeletionByDeviceTaintManager', why, clock.now());
    this.#event(pod, 'Marking for deletion');
    const outcome = await deleteDisrupted(client, pod, condition, signal);
    if (outcome === 'conflict') return requeue;
    if (outcome === 'deleted') this.#metrics.deleted(clock.now() - dueMs);
    this.#due.delete(key);
    logger.info('a pod was evicted from a tainted device', { pod: key });
    return reconciled;
  }

  #event({ metadata }: ReadPod, message: string): void {
    this.#recorder.event(
      { apiVersion: 'v1', kind: 'Pod', metadata },
      'Normal',
      'DeviceTaintManagerEviction',
      message,
    );
  }
}

/** Returns the taints by device. */
function taintsIn({ spec }: ReadSlice): unknown {
  return (spec.devices ?? []).map(({ name, taints }) => [name, taints ?? []]);
}

function usesClaims({ spec }: ReadPod): boolean {
  return (spec.resourceClaims ?? []).length > 0;
}

/** Returns the keys of the pods that use the claim. */
function usersOf({ metadata, status }: ReadClaim): readonly string[] {
  if (status.allocation === undefined) return [];
  return (status.reservedFor ?? []).flatMap(({ apiGroup = '', resource, name }) =>
    apiGroup === '' && resource === 'pods' ? [`${metadata.namespace}/${name}`] : [],
  );
}
