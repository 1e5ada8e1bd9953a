// Rewrites every object of a resource unchanged, so that the store has it in its current form:
// encrypted with the current key, in the current storage version. A migration waits for its turn
// among the migrations of its resource, records the current revision, and then rewrites the objects
// that are not newer. Objects that are written meanwhile are migrated by that write.
//
// Migrations are a beta API: this controller waits until the API server serves it.

import type { KubeObject, ListOf } from '#api/machinery/meta/v1/index.ts';
import {
  type MigrationConditionType,
  storageVersionMigrations,
} from '#api/groups/storagemigration/v1beta1/index.ts';
import type { ResourceClient } from '#client/client.ts';
import type { Lister } from '#client/informers/index.ts';
import { groupVersionPath } from '#client/request.ts';
import { formatTime, parseTime } from '#machinery/text/time.ts';
import {
  RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
  runWorkers,
} from '#client/workqueue/index.ts';
import { DISCOVERY, pause } from '#machinery/clock.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import {
  apiVersionOf,
  type DiscoveredResource,
  discoverResources,
  hasVerbs,
} from '../discovery.ts';
import { OwnWrites } from '../own-writes.ts';
import {
  isNewer,
  isRunning,
  isTerminal,
  type Migration,
  resourceKey,
  turnOf,
  versionProblem,
  withCondition,
  withoutRunning,
} from './status.ts';

export interface StorageVersionMigratorConfig extends ControllerConfig {
  /** The time between two discoveries of the migration API. Default: one minute. */
  readonly discoveryPeriodMs?: number;
  /** The page size of lists. Default: 500. */
  readonly pageSize?: number;
}

const NAME = 'storage-version-migrator-controller';
const WORKERS = 5;
const NEEDED = ['update', 'patch', 'list'] as const;
/** An invalid namespace name: the list is empty, and returns the current revision. */
const NO_NAMESPACE = '@fake:svm_ns!';
/** A new resource may not be discovered yet: its migration fails only after this time. */
const DISCOVERY_TIMEOUT_MS = 60_000;

export class StorageVersionMigrator implements Controller {
  readonly name = NAME;
  readonly #config: StorageVersionMigratorConfig;
  readonly #queue: RateLimitingQueue;
  readonly #own: OwnWrites;
  #lister: Lister<Migration> | undefined;

  constructor(config: StorageVersionMigratorConfig) {
    this.#config = config;
    const { clock } = config;
    this.#own = new OwnWrites({ clock });
    this.#queue = new RateLimitingQueue({ clock, metrics: config.queueMetrics?.(NAME) });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers, logger } = this.#config;
    await this.#untilServed(signal);
    if (signal.aborted) return;
    const informer = informers.informerFor(storageVersionMigrations);
    this.#lister = informer.lister;
    informer.addEventHandler({
      onAdd: (migration) => this.#seen(migration),
      onUpdate: (_before, migration) => this.#seen(migration),
      onDelete: (migration) => {
        this.#own.gone(resourceKey(migration), migration);
        this.#queueAll(resourceKey(migration));
      },
    });
    informers.start(signal);
    await informer.waitForSync(signal);
    await runWorkers(this.#queue, WORKERS, (name, stop) => this.#reconcile(name, stop), signal, {
      logger,
    });
  }

  async #untilServed(signal: AbortSignal): Promise<void> {
    const { client, clock, logger, discoveryPeriodMs = 60_000 } = this.#config;
    const path = groupVersionPath(storageVersionMigrations.group, storageVersionMigrations.version);
    while (!signal.aborted) {
      const began = clock.monotonic();
      try {
        await client.transport.request({ method: 'GET', path, signal });
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!apierrors.isNotFound(error))
          logger.debug('storage version migrator: discovery failed', { err: error });
      }
      const options = { topic: DISCOVERY, signal };
      await pause(clock, discoveryPeriodMs, began, options).catch(() => undefined);
    }
  }

  #seen(migration: Migration): void {
    this.#own.seen(resourceKey(migration), migration);
    this.#queueAll(resourceKey(migration));
  }

  /** At most one migration per resource runs at a time. */
  #queueAll(key: string): void {
    for (const migration of this.#lister?.list() ?? []) {
      if (resourceKey(migration) === key) this.#queue.add(migration.metadata.name);
    }
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const migration = this.#lister?.getByKey(name);
    if (migration === undefined) return reconciled;
    const key = resourceKey(migration);
    const behindMs = this.#own.remainingMs(key);
    if (behindMs > 0) return requeueAfter(behindMs);
    try {
      if (isTerminal(migration)) {
        if (isRunning(migration))
          await this.#write(migration, withoutRunning(migration.status, this.#now()), signal);
        return reconciled;
      }
      const others = (this.#lister?.list() ?? []).filter((other) => resourceKey(other) === key);
      if (turnOf(others) !== migration) return reconciled;
      return await this.#advance(migration, signal);
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      const seconds = apierrors.suggestsClientDelay(error);
      if (seconds !== undefined && seconds > 0) return requeueAfter(seconds * 1000);
      throw error;
    }
  }

  async #advance(migration: Migration, signal: AbortSignal): Promise<ReconcileResult> {
    if (!isRunning(migration)) {
      return this.#tell(
        migration,
        'Running',
        'MigrationRunning',
        'The migration is running',
        signal,
      );
    }
    const resource = await this.#find(migration, signal);
    if (resource === undefined) return this.#missing(migration, signal);
    const { resourceVersion = '' } = migration.status;
    if (resourceVersion === '') return this.#begin(migration, resource, signal);
    const failure = await this.#migrate(resource, resourceVersion, signal);
    if (failure !== undefined)
      return this.#fail(migration, `migration encountered unhandled error: ${failure}`, signal);
    return this.#tell(migration, 'Succeeded', 'StorageVersionMigrationSucceeded', '', signal);
  }

  /** Returns the resource in the version that the server prefers. Rejects if discovery failed. */
  async #find(
    { spec: { resource } }: Migration,
    signal: AbortSignal,
  ): Promise<DiscoveredResource | undefined> {
    const { resources, failures } = await discoverResources(this.#config.client, signal);
    const found = resources.find(
      (each) =>
        each.preferred && each.group === resource.group && each.resource === resource.resource,
    );
    if (found === undefined && failures.size > 0) {
      throw new Error(
        `resource ${resource.resource} not found, but not all groups could be asked: ` +
          [...failures.values()].join(', '),
      );
    }
    return found;
  }

  async #missing(migration: Migration, signal: AbortSignal): Promise<ReconcileResult> {
    const age = this.#config.clock.now() - (parseTime(migration.metadata.creationTimestamp) ?? 0);
    if (age < DISCOVERY_TIMEOUT_MS) return requeue;
    const begun = (migration.status.resourceVersion ?? '') !== '';
    const why = begun
      ? 'migration encountered unhandled error: unable to obtain GVR from discovery'
      : 'resource does not exist in discovery';
    return this.#fail(migration, why, signal);
  }

  async #begin(
    migration: Migration,
    resource: DiscoveredResource,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const described = describe(resource);
    if (!hasVerbs(resource, ...NEEDED)) {
      const why = `resource "${described}" does not support discovery operations: [${NEEDED.join(' ')}]`;
      return this.#fail(migration, why, signal);
    }
    const all = this.#config.client.resource(resource);
    const { metadata } = await (resource.namespaced ? all.namespace(NO_NAMESPACE) : all).list({
      limit: 1,
      signal,
    });
    const { resourceVersion } = metadata;
    const problem = versionProblem(resourceVersion);
    if (problem !== undefined) {
      return this.#fail(
        migration,
        `latest resourceVersion for ${described} is not valid: ${problem}`,
        signal,
      );
    }
    await this.#write(migration, { ...migration.status, resourceVersion }, signal);
    return reconciled;
  }

  /**
   * Rewrites the objects. Returns a permanent error; rejects with a temporary one. A retry repeats
   * no finished write.
   */
  async #migrate(
    resource: DiscoveredResource,
    until: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { client, logger, pageSize = 500 } = this.#config;
    const all = client.resource(resource);
    let page: ListOf<KubeObject> | undefined;
    do {
      page = await all.list({ limit: pageSize, continue: page?.metadata.continue, signal });
      for (const object of page.items) {
        const { resourceVersion } = object.metadata;
        const problem = versionProblem(resourceVersion);
        if (problem !== undefined) return problem;
        if (isNewer(resourceVersion, until)) continue;
        try {
          await rewrite(all, resource, object, signal);
        } catch (error) {
          if (signal.aborted || isRetriable(error)) throw error;
          const { namespace, name } = object.metadata;
          logger.warn('storage version migrator: writing an object failed', {
            resource: describe(resource),
            namespace,
            name,
            err: error,
          });
          return errorMessage(error);
        }
      }
    } while ((page.metadata.continue ?? '') !== '');
    return undefined;
  }

  #fail(migration: Migration, message: string, signal: AbortSignal): Promise<ReconcileResult> {
    return this.#tell(migration, 'Failed', 'StorageVersionMigrationFailed', message, signal);
  }

  async #tell(
    migration: Migration,
    type: MigrationConditionType,
    reason: string,
    message: string,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    await this.#write(
      migration,
      withCondition(migration.status, type, reason, message, this.#now()),
      signal,
    );
    return reconciled;
  }

  async #write(
    migration: Migration,
    status: Migration['status'],
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const written = await this.#config.client
        .resource(storageVersionMigrations)
        .updateStatus({ ...migration, status }, { signal });
      this.#own.wrote(
        resourceKey(migration),
        written,
        this.#lister?.getByKey(migration.metadata.name),
      );
    } catch (error) {
      // The kind is not served any more, or the object is gone.
      if (!apierrors.isNotFound(error)) throw error;
    }
  }

  #now(): string {
    return formatTime(this.#config.clock.now());
  }
}

/**
 * Applies nothing to the object in its listed version. A conflict means that another client has
 * written the object since, or that it was deleted or recreated: then no rewrite is needed.
 */
async function rewrite(
  all: ResourceClient<KubeObject>,
  resource: DiscoveredResource,
  { metadata }: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace = '', uid, resourceVersion } = metadata;
  const nothing = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { uid, resourceVersion },
  };
  try {
    const access = resource.namespaced ? all.namespace(namespace) : all;
    await access.patch(name, 'application/apply-patch+yaml', nothing, {
      fieldManager: NAME,
      signal,
    });
  } catch (error) {
    if (!apierrors.isConflict(error)) throw error;
  }
}

/** Also what is no answer of the server at all. */
function isRetriable(err: unknown): boolean {
  return (
    !(err instanceof apierrors.StatusError) ||
    apierrors.isServerTimeout(err) ||
    apierrors.isTooManyRequests(err) ||
    apierrors.isServiceUnavailable(err) ||
    apierrors.isInternalError(err) ||
    apierrors.isTimeout(err)
  );
}

const describe = ({ group, version, resource }: DiscoveredResource): string =>
  `${group}/${version}, Resource=${resource}`;
