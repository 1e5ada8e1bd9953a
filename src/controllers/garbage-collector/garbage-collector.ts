// Deletes objects whose owners are all gone, and carries out the deletion policy of a deleted
// object: its dependents are deleted after it (background), before it (foreground), or left behind
// (orphan).
//
// The graph says which objects to examine. Decisions are made from live objects only, compared by
// UID, and written with preconditions. So a stale graph costs a request, never an object.

import type { Immutable, KubeObject, OwnerReference } from '#api/machinery/meta/v1/index.ts';
import { LinkedAbort, abortable } from '#client/abort.ts';
import { EventRecorder } from '#client/events/index.ts';
import { LruCache } from '#machinery/collections/lru.ts';
import {
  RateLimitingQueue,
  type Reconcile,
  reconciled,
  type ReconcileResult,
  requeue,
  runWorkers,
} from '#client/workqueue/index.ts';
import { ExponentialRateLimiter } from '#client/workqueue/rate-limiter.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { DISCOVERY, type Timer } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { type Counter, Instruments } from '#machinery/metrics/instruments.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import {
  apiVersionOf,
  type DiscoveredResource,
  discoverResources,
  hasVerbs,
} from '../discovery.ts';
import {
  isWaitingForDependents,
  judge,
  type JudgedOwner,
  type OwnerState,
  type Propagation,
} from './decision.ts';
import {
  blockingDependents,
  FOREGROUND_FINALIZER,
  Graph,
  type Identity,
  type Node,
  ORPHAN_FINALIZER,
} from './graph.ts';
import { Monitors } from './monitors.ts';

type OwnerRef = Immutable<OwnerReference>;

export interface GarbageCollectorConfig extends Omit<ControllerConfig, 'informers'> {
  /** The number of objects that are reconciled at once. Default: 20. */
  readonly workers?: number;
  /** The time between two discoveries of resources, in milliseconds. Default: 30 s. */
  readonly discoveryPeriodMs?: number;
}

/** Events expire on their own and are many, so they are not watched. 'resource.group'. */
const IGNORED: ReadonlySet<string> = new Set(['events.', 'events.events.k8s.io']);
/** How long to wait for the first lists before work begins without them. */
const SYNC_TIMEOUT_MS = 30_000;
/**
 * Definitions change several times while they are established: resources are discovered again this
 * long after the first change.
 */
const REDISCOVERY_DELAY_MS = 250;

/** A cluster-scoped object names a namespaced owner: the reference cannot be resolved. */
class UnresolvableOwnerError extends Error {
  constructor({ kind, name }: Identity) {
    super(`${kind} ${name} would be in a namespace, but none is given`);
    this.name = 'UnresolvableOwnerError';
  }
}

/** The kind of an object is unknown: its resource may be served later. */
class UnknownKindError extends Error {
  constructor({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) {
    super(`no resource is served for kind ${kind} of ${apiVersion}`);
    this.name = 'UnknownKindError';
  }
}

export class GarbageCollector implements Controller {
  readonly name = 'garbage-collector-controller';
  readonly #config: GarbageCollectorConfig;
  readonly #graph: Graph;
  readonly #monitors: Monitors;
  readonly #recorder: EventRecorder;
  readonly #failures: Counter;
  readonly #deleteQueue: RateLimitingQueue<Node>;
  readonly #orphanQueue: RateLimitingQueue<Node>;
  /** Resolves once every discovered resource has been listed, or its list timed out. */
  readonly #ready: Promise<void>;
  #resolveReady: () => void = () => undefined;
  #isReady = false;
  /** The last discovery that has begun or is queued. Never rejects. */
  #discovery: Promise<void> = Promise.resolve();
  #rediscovery: Timer | undefined;
  #running: AbortSignal = AbortSignal.abort();
  /** 'apiVersion kind' → the resource that serves the kind, by the last discovery. */
  #resources: ReadonlyMap<string, DiscoveredResource> = new Map();
  /** Owners that do not exist, by `absentKey`. A UID is never reused. */
  readonly #absent = new LruCache<string, true>({ capacity: 500 });

  constructor(config: GarbageCollectorConfig) {
    const { client, clock, random } = config;
    const logger = config.logger.with({ controller: this.name });
    this.#config = { ...config, logger };
    const errors = 'garbagecollector_controller_resources_sync_error_total';
    const help = 'The number of failed discoveries of resources.';
    this.#failures = (config.instruments ?? new Instruments())
      .counter({ name: errors, help })
      .with();
    this.#ready = new Promise((resolve) => {
      this.#resolveReady = resolve;
    });
    this.#deleteQueue = new RateLimitingQueue<Node>({
      clock,
      metrics: config.queueMetrics?.('garbage_collector_attempt_to_delete'),
      rateLimiter: new ExponentialRateLimiter(),
    });
    this.#orphanQueue = new RateLimitingQueue<Node>({
      clock,
      metrics: config.queueMetrics?.('garbage_collector_attempt_to_orphan'),
      rateLimiter: new ExponentialRateLimiter(),
    });
    this.#recorder = new EventRecorder({ client, clock, random, logger, component: this.name });
    this.#graph = new Graph({
      attemptToDelete: (node) => this.#deleteQueue.add(node),
      attemptToOrphan: (node) => this.#orphanQueue.add(node),
      invalidNamespace: (dependent, reference, namespace) =>
        this.#reportNamespace(dependent, reference, namespace),
      absent: (identity) => this.#absent.set(absentKey(identity, identity.namespace), true),
    });
    const onDefinition = (): void => this.#rediscoverSoon();
    this.#monitors = new Monitors({
      client,
      clock,
      random,
      logger,
      graph: this.#graph,
      onDefinition,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { workers = 20, discoveryPeriodMs = 30_000, clock, logger } = this.#config;
    this.#running = signal;
    const looksAt = (): string => DISCOVERY;
    const discovering = wait.until({ clock, signal, periodMs: discoveryPeriodMs, looksAt }, () =>
      this.#discoverNext(),
    );
    try {
      await abortable(this.#ready, signal);
      await Promise.all([
        runWorkers(
          this.#deleteQueue,
          workers,
          againOnConflict(this.#attemptToDelete.bind(this)),
          signal,
          {
            logger,
            describe,
          },
        ),
        runWorkers(
          this.#orphanQueue,
          workers,
          againOnConflict(this.#attemptToOrphan.bind(this)),
          signal,
          {
            logger,
            describe,
          },
        ),
      ]);
    } finally {
      this.#rediscovery?.cancel();
      await discovering;
      await this.#discovery;
      await this.#monitors.stop();
      this.#recorder.stop();
    }
  }

  /** Discovers the resources in a moment, if that is not planned already. */
  #rediscoverSoon(): void {
    // The first discovery includes the new resources anyway.
    if (!this.#isReady || this.#running.aborted) return;
    this.#rediscovery ??= this.#config.clock.setTimer(REDISCOVERY_DELAY_MS, () => {
      this.#rediscovery = undefined;
      void this.#discoverNext();
    });
  }

  /**
   * Discovers the resources after the discovery that runs, so that the newest result is used last.
   */
  #discoverNext(): Promise<void> {
    this.#discovery = this.#discovery.then(() =>
      this.#running.aborted ? undefined : this.#discover(this.#running),
    );
    return this.#discovery;
  }

  async #discover(signal: AbortSignal): Promise<void> {
    const { client, clock, logger } = this.#config;
    try {
      const { resources, failures } = await discoverResources(client, signal);
      const found = new Map(
        resources.map((resource) => [kindKey(apiVersionOf(resource), resource.kind), resource]),
      );
      for (const [id, resource] of this.#resources) {
        // Discovery of the group failed, so its resources are kept.
        if (!found.has(id) && failures.has(apiVersionOf(resource))) found.set(id, resource);
      }
      for (const [groupVersion, reason] of failures)
        logger.warn('a group could not be discovered', { groupVersion, reason });
      this.#resources = found;
      const monitored = [...found.values()].filter(
        (resource) =>
          resource.preferred &&
          hasVerbs(resource, 'delete', 'list', 'watch') &&
          !IGNORED.has(`${resource.resource}.${resource.group}`),
      );
      const watching = this.#monitors.watch(monitored);
      // Later, a resource that cannot be listed must not keep others from being discovered.
      if (this.#isReady) return;
      const synced = new LinkedAbort(signal);
      const timeout = clock.sleep(SYNC_TIMEOUT_MS, synced.signal);
      await Promise.race([watching, timeout]).finally(() => synced.abort());
      this.#isReady = true;
      this.#resolveReady();
    } catch (error) {
      if (signal.aborted) return;
      this.#failures.value++;
      logger.warn('resources could not be discovered, will retry', { err: error });
    }
  }

  async #attemptToDelete(node: Node, signal: AbortSignal): Promise<ReconcileResult> {
    // The node was removed from the graph meanwhile, and the nodes that depend on it were queued.
    if (this.#graph.get(node.uid) !== node) return reconciled;
    // The object is being deleted already and waits for no dependents.
    if (node.beingDeleted && !node.deletingDependents) return reconciled;
    let object: KubeObject | undefined;
    try {
      object = await this.#read(node, signal);
    } catch (error) {
      if (!(error instanceof UnknownKindError || error instanceof UnresolvableOwnerError))
        throw error;
      this.#config.logger.debug('garbage collector: reading an object failed', {
        name: node.name,
        err: error,
      });
      // The kind may be served later: the retries become ever less frequent.
      return error instanceof UnknownKindError ? requeue : reconciled;
    }
    if (object === undefined || object.metadata.uid !== node.uid) {
      this.#graph.delete(node.uid);
      return reconciled;
    }
    // The owner exists. If its resource is watched, an event will make its node real.
    if (node.virtual) return this.#isMonitored(node) ? requeue : reconciled;
    if (node.deletingDependents) return this.#waitForDependents(node, signal);
    return this.#collect(node, object, signal);
  }

  /**
   * Removes the finalizer of an object in foreground deletion when no dependent blocks it any more.
   */
  async #waitForDependents(node: Node, signal: AbortSignal): Promise<ReconcileResult> {
    const blocking = blockingDependents(node);
    if (blocking.length === 0) return this.#removeFinalizer(node, FOREGROUND_FINALIZER, signal);
    for (const dependent of blocking)
      if (!dependent.deletingDependents) this.#deleteQueue.add(dependent);
    return reconciled;
  }

  async #collect(node: Node, object: KubeObject, signal: AbortSignal): Promise<ReconcileResult> {
    const references = object.metadata.ownerReferences ?? [];
    const owners: JudgedOwner[] = [];
    try {
      for (const reference of references)
        owners.push({ reference, state: await this.#judgeOwner(node, reference, signal) });
    } catch (error) {
      // One owner cannot be resolved, so no decision is possible.
      if (error instanceof UnknownKindError) return requeue;
      if (error instanceof UnresolvableOwnerError) return reconciled;
      throw error;
    }
    const verdict = judge(object, node, owners);
    switch (verdict.action) {
      case 'keep':
        return reconciled;
      case 'removeOwners':
        await this.#patchOwners(
          node,
          object,
          (reference) => (verdict.uids.includes(reference.uid) ? undefined : reference),
          signal,
        );
        return reconciled;
      case 'delete':
        if (verdict.unblock) {
          await this.#patchOwners(
            node,
            object,
            (reference) => ({ ...reference, blockOwnerDeletion: false }),
            signal,
          );
          return requeue;
        }
        return this.#delete(node, object, verdict.propagation, signal);
    }
  }

  async #judgeOwner(node: Node, reference: OwnerRef, signal: AbortSignal): Promise<OwnerState> {
    const { apiVersion, kind, name, uid } = reference;
    const namespace = this.#resourceOf(reference).namespaced ? node.namespace : '';
    const key = absentKey(reference, namespace);
    if (this.#absent.get(key)) return 'dangling';
    const identity = { apiVersion, kind, name, uid, namespace };
    const live = await this.#read(identity, signal);
    if (live === undefined || live.metadata.uid !== reference.uid) {
      this.#absent.set(key, true);
      return 'dangling';
    }
    return isWaitingForDependents(live) ? 'waiting' : 'solid';
  }

  async #delete(
    node: Node,
    { metadata }: KubeObject,
    propagation: Propagation,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    try {
      await this.#client(node).delete(node.name, {
        // The preconditions make sure that the object has no new owner.
        preconditions: { uid: metadata.uid, resourceVersion: metadata.resourceVersion },
        propagationPolicy: propagation,
        signal,
      });
      return reconciled;
    } catch (error) {
      if (apierrors.isNotFound(error)) {
        this.#graph.delete(node.uid);
        return reconciled;
      }
      throw error;
    }
  }

  async #attemptToOrphan(owner: Node, signal: AbortSignal): Promise<ReconcileResult> {
    if (this.#graph.get(owner.uid) !== owner) return reconciled;
    const { uid } = owner;
    const results = await Promise.allSettled(
      [...owner.dependents].map(async (dependent) => {
        const object = await this.#read(dependent, signal);
        if (object === undefined || object.metadata.uid !== dependent.uid) return;
        if (!object.metadata.ownerReferences?.some((reference) => reference.uid === uid)) return;
        await this.#patchOwners(
          dependent,
          object,
          (reference) => (reference.uid === uid ? undefined : reference),
          signal,
        );
      }),
    );
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    return this.#removeFinalizer(owner, ORPHAN_FINALIZER, signal);
  }

  /**
   * Patches owner references. `change`: returns undefined to remove a reference. Throws on a
   * conflict: the object must be examined again.
   */
  async #patchOwners(
    node: Node,
    { metadata }: KubeObject,
    change: (reference: OwnerRef) => OwnerRef | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const ownerReferences = (metadata.ownerReferences ?? [])
      .map(change)
      .filter((reference) => reference !== undefined);
    await this.#patchMetadata(node, metadata, { ownerReferences }, signal);
  }

  async #removeFinalizer(
    node: Node,
    finalizer: string,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const object = await this.#read(node, signal);
    if (object === undefined || object.metadata.uid !== node.uid) {
      this.#graph.delete(node.uid);
      return reconciled;
    }
    const finalizers = object.metadata.finalizers ?? [];
    if (!finalizers.includes(finalizer)) return reconciled;
    const remaining = finalizers.filter((present) => present !== finalizer);
    await this.#patchMetadata(node, object.metadata, { finalizers: remaining }, signal);
    return reconciled;
  }

  /**
   * Patches metadata with the UID and resourceVersion that were read, so that the patch fails
   * instead of undoing another write.
   */
  async #patchMetadata(
    identity: Identity,
    read: KubeObject['metadata'],
    change: object,
    signal: AbortSignal,
  ): Promise<void> {
    const metadata = { uid: read.uid, resourceVersion: read.resourceVersion, ...change };
    try {
      await this.#client(identity).patch(
        identity.name,
        'application/merge-patch+json',
        { metadata },
        { signal },
      );
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
  }

  /** Returns the live object; undefined if it does not exist. */
  async #read(identity: Identity, signal: AbortSignal): Promise<KubeObject | undefined> {
    return apierrors.unlessMissing(this.#client(identity).get(identity.name, { signal }));
  }

  #client(identity: Identity) {
    const resource = this.#resourceOf(identity);
    const client = this.#config.client.resource(resource);
    if (!resource.namespaced) return client;
    if (identity.namespace === '') throw new UnresolvableOwnerError(identity);
    return client.namespace(identity.namespace);
  }

  #resourceOf(type: { readonly apiVersion: string; readonly kind: string }): DiscoveredResource {
    const resource = this.#resources.get(kindKey(type.apiVersion, type.kind));
    if (resource === undefined) throw new UnknownKindError(type);
    return resource;
  }

  #isMonitored(identity: Identity): boolean {
    return hasVerbs(this.#resourceOf(identity), 'delete', 'list', 'watch');
  }

  #reportNamespace(dependent: Node, reference: OwnerRef, ownerNamespace: string): void {
    const { apiVersion, kind, name, uid } = reference;
    const owner = `[${apiVersion}/${kind}, namespace: ${dependent.namespace}, name: ${name}, uid: ${uid}]`;
    this.#config.logger.warn('a reference names an owner in another namespace', {
      owner,
      ownerNamespace,
    });
    this.#recorder.event(
      dependent,
      'Warning',
      'OwnerRefInvalidNamespace',
      `ownerRef ${owner} does not exist in namespace ${JSON.stringify(dependent.namespace)}`,
    );
  }
}

/** Retries a reconcile whose object was written meanwhile. This is not a failure. */
function againOnConflict(reconcile: Reconcile<Node>): Reconcile<Node> {
  return async (node, signal) => {
    try {
      return await reconcile(node, signal);
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      throw error;
    }
  };
}

function describe({ apiVersion, kind, namespace, name, uid }: Node): string {
  return `${apiVersion} ${kind} ${namespace === '' ? '' : `${namespace}/`}${name} (${uid})`;
}

function kindKey(apiVersion: string, kind: string): string {
  return `${apiVersion} ${kind}`;
}

/** Returns a key for an owner that a reference from this namespace names. */
function absentKey(reference: OwnerRef | Identity, namespace: string): string {
  return JSON.stringify([
    reference.apiVersion,
    reference.kind,
    reference.name,
    reference.uid,
    namespace,
  ]);
}
