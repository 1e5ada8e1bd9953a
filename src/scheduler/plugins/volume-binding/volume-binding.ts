// VolumeBinding: a pod runs where its volumes can be used, and claims that wait for their first
// consumer get their volumes there.

import { CsiMigrationError } from '#api/groups/core/v1/csi-migration/index.ts';
import { persistentVolumeClaims, persistentVolumes } from '#api/groups/core/v1/index.ts';
import {
  type CSIDriver,
  type CSINode,
  csiNodes,
  type CSIStorageCapacity,
  storageClasses,
} from '#api/groups/storage/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import { quote } from '#machinery/text/go-format.ts';
import { type Counter, type Family, Instruments } from '#machinery/metrics/instruments.ts';
import { type StateKey, stateKey } from '#scheduler/framework/cycle-state.ts';
import {
  ActionType,
  clusterEvent,
  type ClusterEventWithHint,
  type QueueingHint,
  UPDATE,
} from '#scheduler/framework/events.ts';
import type { Handle, PluginRegistration } from '#scheduler/framework/handle.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type {
  Answer,
  FilterPlugin,
  PreBindPlugin,
  PreFilterPlugin,
  ReservePlugin,
} from '#scheduler/framework/plugin.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { Status } from '#scheduler/framework/status.ts';
import { readArgs } from '../args.ts';
import { AssumeCache } from '../assume-cache.ts';
import {
  claimKey,
  classOfClaim,
  classOfVolume,
  concernsClaimOf,
  isFullyBound,
  notFoundMessage,
  notOwnedBy,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
} from '../volumes/claims.ts';
import { isMigratable, migratedPluginsOf, seenFrom } from '../volumes/migration.ts';
import { type Assumed, VolumeBinder } from './binding.ts';
import { Matches } from './matching.ts';
import { largestVolume, Provisioner } from './provisioning.ts';
import {
  bySize,
  decide,
  type Decision,
  type OpenClaim,
  type PodClaims,
  type View,
} from './volumes.ts';

const NAME = 'VolumeBinding';
const SKIP = new Status('Skip', [], NAME);
const UNBOUND = new Status(
  'UnschedulableAndUnresolvable',
  ['pod has unbound immediate PersistentVolumeClaims'],
  NAME,
);
const BY_CLASS = 'scheduler/storageClass';
const byClass = { [BY_CLASS]: (volume: PersistentVolume) => [classOfVolume(volume)] };
const DEFAULT_TIMEOUT_SECONDS = 600;
const MAX_INT32 = 2 ** 31 - 1;

/** The requirements for nodes, and the decisions for nodes that passed. */
interface PodVolumes {
  readonly claims: PodClaims;
  readonly decisions: Map<string, Decision>;
}

const VOLUMES: StateKey<PodVolumes> = stateKey(`${NAME}/volumes`);
const ASSUMED: StateKey<Assumed> = stateKey(`${NAME}/assumed`);

class VolumeBinding implements PreFilterPlugin, FilterPlugin, ReservePlugin, PreBindPlugin {
  readonly name = NAME;
  readonly #volumes: AssumeCache<PersistentVolume>;
  readonly #claims: AssumeCache<PersistentVolumeClaim>;
  readonly #classes;
  readonly #provisioner: Provisioner;
  readonly #binder: VolumeBinder;
  readonly #seenFrom: View;
  /** By stage. */
  readonly #errors: Family<Counter>;

  constructor(handle: Handle, timeoutMs: number) {
    const { informers, ended } = handle;
    const volumes = informers.informerFor(persistentVolumes);
    volumes.addIndexers(byClass);
    this.#volumes = new AssumeCache({ informer: volumes, ended });
    this.#claims = new AssumeCache({
      informer: informers.informerFor(persistentVolumeClaims),
      ended,
    });
    this.#classes = informers.informerFor(storageClasses).lister;
    this.#provisioner = new Provisioner(handle);
    this.#errors = (handle.metrics?.instruments ?? new Instruments()).counter({
      name: 'scheduler_volume_scheduling_stage_error_total',
      help: 'How often a look at volumes, or giving them to claims, ended with an error.',
      labels: ['operation'],
    });
    const drivers = informers.informerFor(csiNodes).lister;
    this.#seenFrom = (volume, { metadata }) => seenFrom(volume, drivers.get('', metadata.name));
    const [seen, claims] = [this.#seenFrom, this.#claims];
    this.#binder = new VolumeBinder({
      handle,
      volumes: this.#volumes,
      claims,
      seenFrom: seen,
      timeoutMs,
    });
  }

  preFilter(state: Parameters<PreFilterPlugin['preFilter']>[0], pod: PodInfo): Status | undefined {
    if (pod.claims.length === 0) return SKIP;
    const claims = this.#usableClaims(pod);
    if (typeof claims === 'string')
      return new Status('UnschedulableAndUnresolvable', [claims], NAME);
    const found = this.#ask(claims);
    if (found instanceof Status) return found;
    // Every node is suitable, and nothing has to be done.
    if (found.bound.length === 0 && !found.volumeMissing && found.open.length === 0) return SKIP;
    state.write(VOLUMES, { claims: found, decisions: new Map() });
    return undefined;
  }

  filter(
    state: Parameters<FilterPlugin['filter']>[0],
    _pod: PodInfo,
    { name, node }: NodeInfo,
  ): Answer {
    const volumes = state.read(VOLUMES);
    if (volumes === undefined || node === undefined) return undefined;
    let decision: Decision | Status;
    try {
      decision = decide(volumes.claims, node, this.#seenFrom);
    } catch (error) {
      this.#errors.with('predicate').value++;
      if (error instanceof CsiMigrationError) return Status.error(error, NAME);
      throw error;
    }
    if (decision instanceof Status) return decision;
    if (volumes.claims.open.length > 0) volumes.decisions.set(name, decision);
    return undefined;
  }

  filterTemplate(pod: PodInfo): string | undefined {
    return pod.claims.length === 0 ? '' : undefined;
  }

  reserve(state: Parameters<ReservePlugin['reserve']>[0], pod: PodInfo, node: string): Answer {
    const decision = state.read(VOLUMES)?.decisions.get(node);
    if (decision === undefined) return undefined;
    const assumed = this.#binder.assume(decision, node);
    if (assumed === undefined) {
      this.#errors.with('assume').value++;
      return Status.error(
        `the volumes of pod ${pod.key} have changed since they were chosen`,
        NAME,
      );
    }
    state.write(ASSUMED, assumed);
    return undefined;
  }

  unreserve(state: Parameters<ReservePlugin['unreserve']>[0]): void {
    const assumed = state.read(ASSUMED);
    if (assumed === undefined) return;
    this.#binder.forget(assumed);
    state.delete(ASSUMED);
  }

  preBindPreFlight(state: Parameters<PreBindPlugin['preBind']>[0]): Answer {
    return state.read(ASSUMED) === undefined ? SKIP : undefined;
  }

  async preBind(
    state: Parameters<PreBindPlugin['preBind']>[0],
    pod: PodInfo,
    node: string,
    signal: AbortSignal,
  ): Promise<Answer> {
    const assumed = state.read(ASSUMED);
    if (assumed === undefined) return undefined;
    try {
      await this.#binder.carryOut(assumed, pod, node, signal);
      return undefined;
    } catch (error) {
      this.#errors.with('bind').value++;
      return Status.error(error, NAME);
    }
  }

  eventsToRegister(): readonly ClusterEventWithHint[] {
    return EVENTS;
  }

  /** Returns the pod's claims, or the reason why they cannot be used. */
  #usableClaims({ pod, claims }: PodInfo): readonly PersistentVolumeClaim[] | string {
    const { namespace = '' } = pod.metadata;
    const usable: PersistentVolumeClaim[] = [];
    for (const { name, ephemeral } of claims) {
      const claim = this.#claims.get(`${namespace}/${name}`);
      if (claim === undefined) {
        return ephemeral
          ? `waiting for ephemeral volume controller to create the persistentvolumeclaim ${quote(name)}`
          : notFoundMessage('persistentvolumeclaim', name);
      }
      if (claim.status.phase === 'Lost') {
        return (
          `persistentvolumeclaim ${quote(name)} bound to non-existent persistentvolume ` +
          quote(claim.spec.volumeName ?? '')
        );
      }
      if (claim.metadata.deletionTimestamp !== undefined)
        return `persistentvolumeclaim ${quote(name)} is being deleted`;
      const foreign = ephemeral ? notOwnedBy(pod, claim) : undefined;
      if (foreign !== undefined) return foreign;
      usable.push(claim);
    }
    return usable;
  }

  #ask(claims: readonly PersistentVolumeClaim[]): PodClaims | Status {
    const bound: PersistentVolume[] = [];
    const open = new Map<string, OpenClaim>();
    let volumeMissing = false;
    let unbound = false;
    for (const claim of claims) {
      if (isFullyBound(claim)) {
        const volume = this.#volumes.get(claim.spec.volumeName ?? '');
        if (volume === undefined) volumeMissing = true;
        else if (volume.spec.nodeAffinity?.required !== undefined || isMigratable(volume))
          bound.push(volume);
        continue;
      }
      const className = classOfClaim(claim);
      const storageClass = className === '' ? undefined : this.#classes.get('', className);
      if (storageClass !== undefined && storageClass.volumeBindingMode === undefined) {
        return new Status(
          'Error',
          [`VolumeBindingMode not set for StorageClass ${quote(className)}`],
          NAME,
        );
      }
      // A claim that names a volume already is left to the volume binder.
      if (storageClass?.volumeBindingMode !== 'WaitForFirstConsumer' || claim.spec.volumeName)
        unbound = true;
      else open.set(claimKey(claim), this.#open(claim, className, storageClass));
    }
    return unbound ? UNBOUND : { bound, volumeMissing, open: [...open.values()].sort(bySize) };
  }

  #open(claim: PersistentVolumeClaim, className: string, storageClass: StorageClass): OpenClaim {
    return {
      claim,
      matches: new Matches(claim, this.#volumes.byIndex(BY_CLASS, className)),
      provisioning: this.#provisioner.forClaim(claim, storageClass),
    };
  }
}

/** Returns true if the topologies of a class have changed; its binding mode is immutable. */
const classAllowsMore: QueueingHint = (_pod, { before, after }) =>
  before === undefined ||
  !semanticEqual(
    (before as StorageClass).allowedTopologies,
    (after as StorageClass | undefined)?.allowedTopologies,
  );

const moreSpace: QueueingHint = (_pod, { before, after }) => {
  if (before === undefined) return true;
  const now = largestVolume(after as Immutable<CSIStorageCapacity>);
  return now !== undefined && now > (largestVolume(before as Immutable<CSIStorageCapacity>) ?? -1);
};

/** Returns true if the driver's capacity is no longer checked. */
const spaceUnasked: QueueingHint = (_pod, { before, after }) =>
  (before as Immutable<CSIDriver>).spec.storageCapacity === true &&
  (after as Immutable<CSIDriver>).spec.storageCapacity !== true;

/** Returns true if the kubelet leaves other plugins to drivers now. */
const migratesOthers: QueueingHint = (_pod, { before, after }) =>
  before === undefined ||
  migratedPluginsOf(before as Immutable<CSINode>) !==
    migratedPluginsOf(after as Immutable<CSINode>);

const EVENTS: readonly ClusterEventWithHint[] = [
  {
    event: clusterEvent('StorageClass', ActionType.Add | UPDATE, 'StorageClass'),
    hint: classAllowsMore,
  },
  {
    event: clusterEvent('PersistentVolumeClaim', ActionType.Add | UPDATE, 'PersistentVolumeClaim'),
    hint: concernsClaimOf(),
  },
  { event: clusterEvent('PersistentVolume', ActionType.Add | UPDATE, 'PersistentVolume') },
  { event: clusterEvent('Node', ActionType.Add | ActionType.UpdateNodeLabel, 'Node') },
  { event: clusterEvent('CSINode', ActionType.Add | UPDATE, 'CSINode'), hint: migratesOthers },
  { event: clusterEvent('CSIDriver', UPDATE, 'CSIDriverUpdate'), hint: spaceUnasked },
  {
    event: clusterEvent('CSIStorageCapacity', ActionType.Add | UPDATE, 'CSIStorageCapacity'),
    hint: moreSpace,
  },
];

export const volumeBinding: PluginRegistration = {
  name: NAME,
  create(args, handle) {
    const seconds = readArgs(NAME, args, ['bindTimeoutSeconds', 'shape'], (reader) => {
      const shape = reader.child('shape');
      // The field configures the scoring of capacity, which is not supported.
      if (shape.present) {
        const why =
          'unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring';
        reader.errors.push(field.invalid(shape.path, shape.raw, why));
      }
      const timeout = reader.child('bindTimeoutSeconds');
      const value = timeout.integer(-MAX_INT32, MAX_INT32) ?? DEFAULT_TIMEOUT_SECONDS;
      if (value < 0)
        reader.errors.push(
          field.invalid(
            timeout.path,
            value,
            'invalid BindTimeoutSeconds, should not be a negative value',
          ),
        );
      return value;
    });
    return new VolumeBinding(handle, seconds * 1000);
  },
};
