// ResourceQuotas: writes the limits in force and the usage. Admission charges new objects; this
// controller counts existing objects, so that the usage of objects that were deleted, have ended,
// or were charged but never created is released.
//
// A charge without an object leaves no event. So every quota is also recounted periodically.

import { type Pod, pods, type ResourceQuota, resourceQuotas } from '#api/groups/core/v1/index.ts';
import {
  addAmounts,
  amountsOf,
  type Amounts,
  countName,
  DEVICE_CLAIMS,
  evaluatorOf,
  factsAt,
  growth,
  type GroupResource,
  isDeviceLimit,
  isInScopes,
  isUncounted,
  listOf,
  only,
  resourcesOfLimit,
  sameAmounts,
} from '#api/groups/core/v1/quota/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { abortable, LinkedAbort } from '#client/abort.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import {
  RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
  runWorkers,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { newQuantity } from '#machinery/text/quantity.ts';
import { DISCOVERY } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import {
  apiVersionOf,
  type DiscoveredResource,
  discoverResources,
  hasVerbs,
} from '../discovery.ts';
import { isPodTerminal } from '../pod-state.ts';
import { DeviceFacts } from './device-facts.ts';

type ReadQuota = Immutable<ResourceQuota>;
type ReadObject = Immutable<KubeObject>;

export interface ResourceQuotaControllerConfig extends ControllerConfig {
  /** The number of keys that are reconciled at once. Default: 5. */
  readonly workers?: number;
  /** The time after which a quota is recounted without an event. Default: 5 minutes. */
  readonly recountMs?: number;
  /** The time between two discoveries of the server's resources. Default: 30 seconds. */
  readonly discoveryPeriodMs?: number;
}

/** Events within this time lead to one recount: many objects may be deleted at once. */
const COLLECT_MS = 100;
/** Charged objects appear in the cache with a delay: until then, a lower count is not written. */
const SETTLE_MS = 1000;
/**
 * How long a quota waits for the first list of a resource. The server may no longer have the
 * resource.
 */
const SYNC_TIMEOUT_MS = 30_000;

const PODS: GroupResource = { group: '', resource: 'pods' };

const isSame = (a: GroupResource, b: GroupResource): boolean =>
  a.group === b.group && a.resource === b.resource;

interface Counted {
  readonly resource: GroupResource;
  readonly informer: SharedInformer<ReadObject>;
}

export class ResourceQuotaController implements Controller {
  readonly name = 'resourcequota-controller';
  readonly #config: ResourceQuotaControllerConfig;
  readonly #quotas: SharedInformer<ReadQuota>;
  readonly #queue: RateLimitingQueue;
  /**
   * By `countName` and version: the resources that some quota limits. The informer of a resource
   * starts with the first such quota.
   */
  readonly #counted = new Map<string, Counted>();
  /** By `countName`: the countable resources, from the last discovery. */
  #types: ReadonlyMap<string, DiscoveredResource> = new Map();
  /** The device classes, once some quota limits devices. */
  readonly #devices: DeviceFacts;
  /** Resolves when the resources have been discovered for the first time. */
  readonly #ready: Promise<void>;
  #resolveReady: () => void = () => undefined;
  /** The quota's UID → when its usage last grew, on the clock's monotonic scale. */
  readonly #chargedAt = new Map<string, number>();
  /** The signal of the run, for informers that start later. */
  #running: AbortSignal = AbortSignal.abort();

  constructor(config: ResourceQuotaControllerConfig) {
    this.#config = config;
    this.#queue = new RateLimitingQueue({
      clock: config.clock,
      metrics: config.queueMetrics?.('resourcequota_primary'),
    });
    this.#quotas = config.informers.informerFor(resourceQuotas);
    this.#devices = new DeviceFacts(config.informers, () => this.#recountDevices());
    this.#ready = new Promise((resolve) => {
      this.#resolveReady = resolve;
    });
    this.#quotas.addEventHandler({
      onAdd: (quota) => this.#queue.add(objectKey(quota)),
      onUpdate: (before, quota) => {
        const charged = growth(amountsOf(quota.status.used), amountsOf(before.status.used));
        if (charged.size > 0) this.#chargedAt.set(quota.metadata.uid, config.clock.monotonic());
        // The amounts that admission charged are correct as they are.
        if (
          before.metadata.uid !== quota.metadata.uid ||
          !sameLists(before.spec.hard, quota.spec.hard)
        ) {
          this.#queue.add(objectKey(quota));
        }
      },
      onDelete: ({ metadata }) => this.#chargedAt.delete(metadata.uid),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { workers = 5, discoveryPeriodMs = 30_000, clock, logger } = this.#config;
    this.#running = signal;
    const looksAt = (): string => DISCOVERY;
    const discovering = wait.until({ clock, signal, periodMs: discoveryPeriodMs, looksAt }, () =>
      this.#discover(signal),
    );
    try {
      await Promise.all([this.#quotas.waitForSync(signal), abortable(this.#ready, signal)]);
      await runWorkers(this.#queue, workers, (key, stop) => this.#reconcile(key, stop), signal, {
        logger,
      });
    } finally {
      await discovering;
    }
  }

  async #discover(signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#config;
    try {
      const { resources, failures } = await discoverResources(client, signal);
      const types = new Map<string, DiscoveredResource>();
      this.#devices.discovered(resources);
      for (const resource of resources) {
        const { namespaced, preferred } = resource;
        if (!namespaced || !preferred || isUncounted(resource)) continue;
        if (hasVerbs(resource, 'create', 'delete', 'list', 'watch'))
          types.set(countName(resource), resource);
      }
      // Discovery of the group failed, so its resources are kept.
      for (const [name, resource] of this.#types)
        if (failures.has(apiVersionOf(resource))) types.set(name, resource);
      this.#use(types);
    } catch (error) {
      if (!signal.aborted)
        logger.warn('resource quota: discovery failed, retrying', { err: error });
    }
  }

  #use(types: ReadonlyMap<string, DiscoveredResource>): void {
    const hasNew = [...types.keys()].some((name) => !this.#types.has(name));
    this.#types = types;
    this.#resolveReady();
    // A quota may limit a resource that could not be counted before.
    if (hasNew) for (const quota of this.#quotas.lister.list()) this.#queue.add(objectKey(quota));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const quota = this.#quotas.lister.getByKey(key);
    if (quota === undefined) return reconciled;
    const counted = await this.#countedBy(quota, signal);
    const hard = amountsOf(quota.spec.hard);
    const counts = this.#count(quota, counted);
    // Resources that this controller does not count keep the values of other writers.
    const used = only(new Map([...amountsOf(quota.status.used), ...counts]), new Set(hard.keys()));
    const { recountMs = 5 * 60_000, clock } = this.#config;
    const sameHard =
      quota.status.hard !== undefined && sameAmounts(amountsOf(quota.status.hard), hard);
    const sameUsed =
      quota.status.used !== undefined && sameAmounts(amountsOf(quota.status.used), used);
    if (sameHard && sameUsed) return requeueAfter(recountMs);
    const settlesInMs =
      (this.#chargedAt.get(quota.metadata.uid) ?? Number.NEGATIVE_INFINITY) +
      SETTLE_MS -
      clock.monotonic();
    const isLess = growth(amountsOf(quota.status.used), used).size > 0;
    if (sameHard && isLess && settlesInMs > 0) return requeueAfter(settlesInMs);
    const status = {
      ...(quota.spec.hard !== undefined && { hard: quota.spec.hard }),
      used: listOf(used),
    };
    try {
      await this.#config.client
        .resource(resourceQuotas)
        .updateStatus({ ...quota, status }, { signal });
    } catch (error) {
      // Admission charged the quota meanwhile: the new charge must be counted, too.
      if (apierrors.isConflict(error)) return requeue;
      if (apierrors.isNotFound(error)) return reconciled;
      throw error;
    }
    return requeueAfter(recountMs);
  }

  #count({ metadata, spec }: ReadQuota, counted: readonly Counted[]): Amounts {
    const limits = Object.keys(spec.hard ?? {});
    const [podList, claims] = [PODS, DEVICE_CLAIMS].map(
      (type) => counted.find(({ resource }) => isSame(resource, type))?.informer.lister,
    );
    const facts = this.#devices.factsAt(this.#config.clock.now(), podList, claims);
    let sum: Amounts = new Map();
    for (const { resource, informer } of counted) {
      const { tracks, usage } = evaluatorOf(resource);
      const names = new Set(limits.filter((name) => tracks(name, facts.extendedResources)));
      if (names.size === 0) continue;
      sum = addAmounts(sum, new Map([...names].map((name) => [name, newQuantity(0, 'DecimalSI')])));
      for (const object of informer.lister.list(metadata.namespace ?? '')) {
        if (isInScopes(spec, resource, object))
          sum = addAmounts(sum, only(usage(object, facts), names));
      }
    }
    return sum;
  }

  /**
   * Returns the resources that the quota limits or whose usage depends on them, with all their
   * objects in the cache. Resources that cannot be listed are left out.
   */
  async #countedBy({ spec }: ReadQuota, signal: AbortSignal): Promise<readonly Counted[]> {
    const limits = Object.keys(spec.hard ?? {});
    const classes = limits.some(isDeviceLimit) ? this.#devices.follow() : undefined;
    if (classes !== undefined) {
      this.#config.informers.start(this.#running);
      await this.#sync([classes], signal);
    }
    const resources = limits.flatMap((limit) =>
      resourcesOfLimit(limit, this.#devices.extendedResources),
    );
    if (resources.some((each) => isSame(each, DEVICE_CLAIMS))) resources.push(PODS);
    const found = new Map<string, Counted>();
    for (const resource of resources) {
      const counted = this.#watch(countName(resource), resource);
      if (counted !== undefined) found.set(countName(resource), counted);
    }
    const counted = [...found.values()];
    await this.#sync(
      counted.map(({ informer }) => informer),
      signal,
    );
    return counted.filter(({ informer }) => informer.hasSynced());
  }

  /** Waits for the first lists of the informers, for a limited time. */
  async #sync(
    informers: readonly Pick<SharedInformer<KubeObject>, 'hasSynced' | 'waitForSync'>[],
    signal: AbortSignal,
  ): Promise<void> {
    if (informers.every((informer) => informer.hasSynced())) return;
    const waiting = new LinkedAbort(signal);
    const timeout = this.#config.clock.sleep(SYNC_TIMEOUT_MS, waiting.signal);
    const synced = Promise.all(informers.map((informer) => informer.waitForSync(waiting.signal)));
    await Promise.race([synced, timeout]).finally(() => waiting.abort());
  }

  #watch(name: string, resource: GroupResource): Counted | undefined {
    const type = this.#types.get(name);
    if (type === undefined) return undefined;
    const key = `${name} ${type.version}`;
    const present = this.#counted.get(key);
    if (present !== undefined) return present;
    const informer = this.#config.informers.informerFor<KubeObject>(type);
    informer.addEventHandler({
      onUpdate: (before, object) => {
        if (tookMore(type, before, object)) this.#wake(object, resource);
        else if (mayMove(type, before, object)) this.#wakeMoved(before, object, resource);
      },
      onDelete: (object) => this.#wake(object, resource),
    });
    this.#config.informers.start(this.#running);
    const counted = { resource, informer };
    this.#counted.set(key, counted);
    return counted;
  }

  /** Queues the quotas whose scopes the object has entered or left. */
  #wakeMoved(before: ReadObject, object: ReadObject, resource: GroupResource): void {
    this.#wake(
      object,
      resource,
      ({ spec }) => isInScopes(spec, resource, before) !== isInScopes(spec, resource, object),
    );
  }

  /**
   * Queues the quotas of the object's namespace that limit the resource: some usage was released.
   */
  #wake(
    object: ReadObject,
    resource: GroupResource,
    concerns: (quota: ReadQuota) => boolean = () => true,
  ): void {
    const { tracks } = evaluatorOf(resource);
    const { extendedResources } = this.#devices;
    for (const quota of this.#quotas.lister.list(object.metadata.namespace ?? '')) {
      if (!concerns(quota)) continue;
      if (Object.keys(quota.spec.hard ?? {}).some((name) => tracks(name, extendedResources)))
        this.#queue.addAfter(objectKey(quota), COLLECT_MS);
    }
  }

  /** Queues the quotas whose usage depends on the device classes. */
  #recountDevices(): void {
    for (const quota of this.#quotas.lister.list()) {
      if (Object.keys(quota.spec.hard ?? {}).some(isDeviceLimit))
        this.#queue.addAfter(objectKey(quota), COLLECT_MS);
    }
  }
}

/**
 * Reports whether the update may move the object from one scope to another. Status updates of pods,
 * which are frequent, do not.
 */
function mayMove(
  { group, resource }: GroupResource,
  before: ReadObject,
  object: ReadObject,
): boolean {
  if (group !== '') return false;
  if (resource === pods.resource) return before.metadata.generation !== object.metadata.generation;
  return resource === 'persistentvolumeclaims';
}

/** Reports whether the update decreased the object's usage. */
function tookMore(type: GroupResource, before: ReadObject, object: ReadObject): boolean {
  if (type.group !== '') return false;
  if (type.resource === pods.resource) {
    const [then, now] = [before as Immutable<Pod>, object as Immutable<Pod>];
    if (isPodTerminal(now)) return !isPodTerminal(then);
    // A resize of the pod.
    if (then.metadata.generation === now.metadata.generation) return false;
  }
  const { usage } = evaluatorOf(type);
  return !sameAmounts(usage(before, factsAt(0)), usage(object, factsAt(0)));
}

function sameLists(a: ReadQuota['spec']['hard'], b: ReadQuota['spec']['hard']): boolean {
  return sameAmounts(amountsOf(a), amountsOf(b));
}
