// Keeps the status of every definition as it should be, and deletes the objects of definitions that are being deleted.
//
// Level-triggered: a key on a queue says only that a definition may need something. The decision is made from the definition as it is when
// its turn comes, and a write that meets a conflict is left to the event of the other writer. Several servers may do the same work on one
// storage: all of them decide the same.
//
// Definitions come from DefinitionFollower. They are not kept in memory, since their schemas are large: only their names are (GroupNames).

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
  /** Writes the status of definitions, as the server itself. */
  readonly client: Client;
  readonly find: Find;
  /** Reports whether this server serves the objects of a definition whose names are accepted. */
  readonly isServed: (definition: Described) => boolean;
  /** Whether other servers have the same storage. */
  readonly sharesStorage: boolean;
}

/** As much of a definition as tells whether this server serves its objects. */
export interface Described {
  readonly metadata: Pick<Definition['metadata'], 'name' | 'uid' | 'generation'>;
  readonly status: Pick<Definition['status'], 'acceptedNames'>;
}

/** A definition that waits for its objects to be served. */
interface Waiting {
  /** Monotonic. */
  readonly since: number;
  readonly described: Described;
  /** It is on the queue because they are. */
  isServed: boolean;
}

/**
 * How long other servers may take to see a change of a definition, in milliseconds. Their watches bring it a few milliseconds after the
 * write; the rest is for a server that is busy. Upstream waits 5 seconds.
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
  /** By the name of the definition. */
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

  /** Works until the signal aborts. Resolves when no write is in flight any more. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger, catalog } = this.#config;
    sharedByMany(signal);
    const unsubscribe = catalog.onChange(() => this.#catalogChanged());
    try {
      this.#addServed();
      // One worker: whether a name is free depends on what was decided before.
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

  /** Called in the middle of a change: what is installed counts as served only when the call that installs it has returned. */
  #catalogChanged(): void {
    if (this.#isChangeNoted || this.#waiting.size === 0) return;
    this.#isChangeNoted = true;
    queueMicrotask(() => {
      this.#isChangeNoted = false;
      this.#addServed();
    });
  }

  /** Puts the definitions that wait on the queue as soon as their objects are served: once each, since many may wait. */
  #addServed(): void {
    for (const [name, waiting] of this.#waiting) {
      if (waiting.isServed || !this.#config.isServed(waiting.described)) continue;
      waiting.isServed = true;
      this.#queue.add(name);
    }
  }

  /** Notes the names of a definition, and puts it on the queue if it needs something. Nothing is written before `run`. */
  set(definition: Definition): void {
    const { name } = definition.metadata;
    this.#noteNames(definition);
    // Most definitions need nothing, and putting them on the queue means to decode them again.
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
    const since = this.#waiting.get(name)?.since;
    const isOthersTurn =
      since !== undefined && this.#config.isServed(definition) && this.#config.sharesStorage;
    return isOthersTurn
      ? requeueAfter(since + OTHERS_SEE_MS - this.#config.clock.monotonic())
      : reconciled;
  }

  #decide(definition: Definition): Definition['status'] {
    const taken = this.#names.takenIn(definition.spec.group);
    return decideStatus(definition, {
      taken,
      served: this.#isServedByAll(definition),
      now: this.#config.clock.now(),
    });
  }

  /** Reports whether this server serves the objects of a definition, and whether the others had the time to follow. */
  #isServedByAll(definition: Definition): boolean {
    const { name } = definition.metadata;
    const { clock, sharesStorage, isServed } = this.#config;
    if (!waitsForServing(definition) || definition.metadata.deletionTimestamp !== undefined) {
      this.#waiting.delete(name);
      return false;
    }
    const since = this.#waiting.get(name)?.since ?? clock.monotonic();
    const served = isServed(definition);
    this.#waiting.set(name, { since, described: describe(definition), isServed: served });
    return served && (!sharesStorage || clock.monotonic() - since >= OTHERS_SEE_MS);
  }

  async #cleanUp(name: string): Promise<ReconcileResult> {
    const definition = await this.#config.find<Definition>(GROUP, RESOURCE, '', name);
    if (definition !== undefined && isCleanupDue(definition))
      return this.#cleanup.proceed(definition);
    this.#cleanup.forget(name);
    return reconciled;
  }

  /**
   * Writes the status (and, with it, the finalizers) of a definition. Returns the definition as it is then; undefined if it has changed or
   * is gone: then an event is due.
   */
  async #update(definition: Definition): Promise<Definition | undefined> {
    try {
      const updated = await this.#config.client
        .resource(customResourceDefinitions)
        .updateStatus(definition);
      // The next decision may come before the event of this write.
      if (!isGone(updated)) this.#noteNames(updated);
      return updated;
    } catch (error) {
      if (apierrors.isNotFound(error) || apierrors.isConflict(error)) return undefined;
      throw error;
    }
  }
}

/** Nothing of what is returned refers to the schemas, which are large. */
function describe({ metadata, status }: Definition): Described {
  const { name, uid, generation } = metadata;
  return {
    metadata: { name, uid, ...(generation !== undefined && { generation }) },
    status: { acceptedNames: status.acceptedNames },
  };
}

/** Reports whether a write has let a definition go: no event follows for it but its deletion. */
function isGone({ metadata }: Definition): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
}
