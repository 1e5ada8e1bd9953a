// Reconciles the status of every definition, and deletes the objects of definitions that are being
// deleted.
//
// It is level-triggered: a key in the queue only means that a definition may need work. The
// decision uses the definition as it is when its turn comes. After a conflict, the event of the
// other writer triggers the next attempt. Several servers may do the same work on one storage: all
// of them decide the same.
//
// DefinitionFollower provides the definitions. They are not kept in memory, since their schemas are
// large: only their names are (GroupNames).

import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import {
  RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeueAfter,
  runWorkers,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Find } from '../../catalog/internal-client.ts';
import { Cleanup, isCleanupDue } from './cleanup.ts';
import { decideStatus, waitsForServing } from './decide-status.ts';
import type { DefinitionKeeper } from '../definitions.ts';
import type { Definition } from './definition.ts';
import { GroupNames } from './group-names.ts';

export interface ConditionsConfig {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The server's own client, which writes the status of definitions. */
  readonly client: Client;
  readonly find: Find;
  /** Reports whether this server serves the objects of a definition whose names are accepted. */
  readonly isServed: (definition: Described) => boolean;
  /** Whether other servers may use the same storage. */
  readonly sharesStorage: boolean;
  /** Reports whether such a server is alive. */
  readonly hasOtherServers: () => Promise<boolean>;
}

/** The part of a definition that determines whether this server serves its objects. */
export interface Described {
  readonly metadata: Pick<Definition['metadata'], 'name' | 'uid' | 'generation'>;
  readonly status: Pick<Definition['status'], 'acceptedNames'>;
}

/** A definition that waits for its objects to be served. */
interface Waiting {
  /** The monotonic time in ms since when it waits. */
  readonly since: number;
  readonly described: Described;
  /** Its objects are served, so it has been queued. */
  isServed: boolean;
  /** There is no other server that has to see it. */
  isAlone: boolean;
}

/**
 * How long other servers may take to see a change of a definition, in ms. Their watches deliver it
 * a few ms after the write; the rest is a margin for busy servers. Upstream waits 5 seconds.
 */
export const OTHERS_SEE_MS = 250;
const CLEANUP_WORKERS = 5;
const { group: GROUP, resource: RESOURCE } = customResourceDefinitions;

export class DefinitionConditions implements DefinitionKeeper {
  readonly #config: ConditionsConfig;
  readonly #names = new GroupNames();
  readonly #queue: RateLimitingQueue;
  readonly #cleanups: RateLimitingQueue;
  readonly #cleanup: Cleanup;
  /** Waiting definitions by name. */
  readonly #waiting = new Map<string, Waiting>();
  #isChangeNoted = false;

  constructor(config: ConditionsConfig) {
    const { catalog, clock, sharesStorage } = config;
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock });
    this.#cleanups = new RateLimitingQueue({ clock });
    this.#cleanup = new Cleanup({
      catalog,
      clock,
      settleMs: sharesStorage ? OTHERS_SEE_MS : 0,
      update: (definition) => this.#update(definition),
    });
  }

  /** Runs until the signal aborts. Resolves when no write is in flight. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger, catalog } = this.#config;
    sharedByMany(signal);
    const unsubscribe = catalog.onChange(() => this.#catalogChanged());
    try {
      this.#addServed();
      // There is only one worker, because whether a name is free depends on earlier decisions.
      await Promise.all([
        runWorkers(this.#queue, 1, (name) => this.#reconcile(name), signal, { logger }),
        runWorkers(this.#cleanups, CLEANUP_WORKERS, (name) => this.#cleanUp(name), signal, {
          logger,
        }),
      ]);
    } finally {
      unsubscribe();
    }
  }

  /**
   * Called during a change of the catalog. An installation is complete only when the call that
   * makes it has returned, so this waits for that.
   */
  #catalogChanged(): void {
    if (this.#isChangeNoted || this.#waiting.size === 0) return;
    this.#isChangeNoted = true;
    queueMicrotask(() => {
      this.#isChangeNoted = false;
      this.#addServed();
    });
  }

  /**
   * Queues the waiting definitions whose objects are now served; each one once, since many may
   * wait.
   */
  #addServed(): void {
    for (const [name, waiting] of this.#waiting) {
      if (waiting.isServed || !this.#config.isServed(waiting.described)) continue;
      waiting.isServed = true;
      this.#queue.add(name);
    }
  }

  /**
   * Records the names of a definition, and queues it if it needs work. Nothing is written before
   * `run`.
   */
  set(definition: Definition): void {
    const { name } = definition.metadata;
    this.#noteNames(definition);
    // Most definitions need no work, and queueing them would mean decoding them again.
    if (this.#decide(definition) !== definition.status || waitsForServing(definition))
      this.#queue.add(name);
    else this.#waiting.delete(name);
    if (isCleanupDue(definition)) this.#cleanups.add(name);
  }

  delete(name: string): void {
    this.#waiting.delete(name);
    this.#cleanup.forget(name);
    for (const other of this.#names.delete(name)) this.#queue.add(other);
  }

  #noteNames(definition: Definition): void {
    for (const other of this.#names.set(definition)) this.#queue.add(other);
  }

  async #reconcile(name: string): Promise<ReconcileResult> {
    const definition = await this.#config.find<Definition>(GROUP, RESOURCE, '', name);
    if (definition === undefined) return reconciled;
    const status = this.#decide(definition);
    if (status !== definition.status) {
      await this.#update({ ...definition, status });
      return reconciled;
    }
    const waiting = this.#waiting.get(name);
    const { sharesStorage, isServed, hasOtherServers, clock } = this.#config;
    if (waiting === undefined || !sharesStorage || !isServed(definition)) return reconciled;
    if (await hasOtherServers()) {
      return requeueAfter(waiting.since + OTHERS_SEE_MS - clock.monotonic());
    }
    waiting.isAlone = true;
    this.#queue.add(name);
    return reconciled;
  }

  #decide(definition: Definition): Definition['status'] {
    const taken = this.#names.takenIn(definition.spec.group);
    return decideStatus(definition, {
      taken,
      served: this.#isServedByAll(definition),
      now: this.#config.clock.now(),
    });
  }

  /**
   * Reports whether this server serves the objects of a definition, and the others have had the
   * time to do so.
   */
  #isServedByAll(definition: Definition): boolean {
    const { name } = definition.metadata;
    const { clock, sharesStorage, isServed } = this.#config;
    if (!waitsForServing(definition) || definition.metadata.deletionTimestamp !== undefined) {
      this.#waiting.delete(name);
      return false;
    }
    const { since, isAlone } = this.#waiting.get(name) ?? {
      since: clock.monotonic(),
      isAlone: !sharesStorage,
    };
    const served = isServed(definition);
    this.#waiting.set(name, { since, described: describe(definition), isServed: served, isAlone });
    return served && (isAlone || clock.monotonic() - since >= OTHERS_SEE_MS);
  }

  async #cleanUp(name: string): Promise<ReconcileResult> {
    const definition = await this.#config.find<Definition>(GROUP, RESOURCE, '', name);
    if (definition !== undefined && isCleanupDue(definition))
      return this.#cleanup.proceed(definition);
    this.#cleanup.forget(name);
    return reconciled;
  }

  /**
   * Writes the status (and, with it, the finalizers) of a definition. Returns the new definition;
   * undefined if it has changed or is deleted, and an event is due.
   */
  async #update(definition: Definition): Promise<Definition | undefined> {
    try {
      const updated = await this.#config.client
        .resource(customResourceDefinitions)
        .updateStatus(definition);
      // The next decision may come before the event of this write.
      if (!isDeletionComplete(updated)) this.#noteNames(updated);
      return updated;
    } catch (error) {
      if (apierrors.isNotFound(error) || apierrors.isConflict(error)) return undefined;
      throw error;
    }
  }
}

/** Returns the description of a definition. It does not refer to the schemas, which are large. */
function describe({ metadata, status }: Definition): Described {
  const { name, uid, generation } = metadata;
  return {
    metadata: { name, uid, ...(generation !== undefined && { generation }) },
    status: { acceptedNames: status.acceptedNames },
  };
}

/**
 * Reports whether a write has removed the last finalizer, so that only the deletion event follows.
 */
function isDeletionComplete({ metadata }: Definition): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
}
