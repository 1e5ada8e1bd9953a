// Keeps objects of the cluster in memory for authorizers and admission by watching the registry.
// They are no more stale than those of any other watcher. A resource may be installed later than
// its follower, and may be uninstalled and installed again; while it is not installed, it has no
// objects.

import { decodeFromStorage, decodeOutline } from '#api/machinery/codec/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { WatchStream } from '#machinery/watch.ts';
import { ConvertedObject, stateOf } from '../registry/encoded-object.ts';
import { everything, type Selection } from '../registry/selection.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { EncodedObject, EncodedWatchEvent } from '../request.ts';
import type { Catalog, CatalogChange } from './catalog.ts';
import { watchAll, watchChanges } from './internal-client.ts';
import type { Kind } from './kind.ts';

export interface FollowerConfig {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Receives every object of a resource, first the existing ones, in the order in which they change.
 */
export interface Keeper {
  /** Called for a new or changed object. `encoded`: the same object as stored. */
  set(object: KubeObject, encoded: EncodedObject): void;
  /**
   * Called for a deleted object. `key`: the result of `keyOf`. `last`: the object, with the revision
   * of its deletion; undefined if only its absence is known.
   */
  delete(key: string, last?: EncodedObject): void;
}

/** Options for reading the objects of a resource. */
export interface FollowOptions {
  /** Decodes an object. Default: the store does, and keeps the object in its cache. */
  readonly decode?: (encoded: EncodedObject) => KubeObject;
  /** Decodes an object of the initial state, which no other reader needs then. Default: `decode`. */
  readonly decodeInitial?: (encoded: EncodedObject) => KubeObject;
  /**
   * The number of objects after which the event loop gets a turn, for objects that take long to
   * process. Default: no limit.
   */
  readonly objectsPerTurn?: number;
  /**
   * `follow` waits for the first state that can be read, and rejects only when the follower stops.
   * Default: it rejects if the state cannot be read at once.
   */
  readonly waits?: boolean;
  /** The namespace. Default: all namespaces. */
  readonly namespace?: string;
  /** The objects to follow. Default: all objects. */
  readonly selection?: Selection;
  /**
   * Follows changes only, for a keeper that reads the objects itself. Called whenever a watch has
   * begun: earlier changes may be missing, and a list that begins afterwards has all of them.
   * Default: the existing objects come first.
   */
  readonly onlyChangesSince?: () => void;
}

const RETRY_MS = 1_000;

/** Returns 'namespace/name', or the name of a cluster-scoped object. */
export function keyOf({ metadata }: KubeObject): string {
  return metadata.namespace === undefined
    ? metadata.name
    : `${metadata.namespace}/${metadata.name}`;
}

/**
 * Decodes an object without keeping it in the cache of its store, for large objects that are read
 * once.
 */
export function decodeState(encoded: EncodedObject): KubeObject {
  // The bytes are in another version.
  if (encoded instanceof ConvertedObject) return encoded.object();
  const { value, modRevision } = stateOf(encoded);
  return decodeFromStorage<KubeObject>(value, modRevision);
}

/**
 * Decodes an object without its managedFields and its resourceVersion, and without keeping it: for
 * followers that read names and references.
 */
export function decodeStateOutline(encoded: EncodedObject): KubeObject {
  return decodeOutline<KubeObject>(stateOf(encoded).value);
}

export class Follower {
  readonly #config: FollowerConfig;
  readonly #followed: FollowedResource[] = [];

  constructor(config: FollowerConfig) {
    this.#config = config;
  }

  /**
   * Follows a resource. Resolves once every existing object is loaded; at once if the resource is
   * not installed. Rejects if the store cannot be read now, and retries later.
   */
  async follow(
    group: string,
    resource: string,
    keeper: Keeper,
    options: FollowOptions = {},
  ): Promise<void> {
    const followed = new FollowedResource(this.#config, { group, resource, keeper, options });
    this.#followed.push(followed);
    await followed.start();
  }

  stop(): void {
    for (const followed of this.#followed) followed.stop();
  }
}

interface Followed {
  readonly group: string;
  readonly resource: string;
  readonly keeper: Keeper;
  readonly options: FollowOptions;
}

class FollowedResource {
  readonly #config: FollowerConfig;
  readonly #group: string;
  readonly #resource: string;
  readonly #keeper: Keeper;
  readonly #options: FollowOptions;
  /** Keys of the objects that the keeper has. */
  readonly #keys = new Set<string>();
  readonly #unsubscribe: () => void;
  #stream: WatchStream<EncodedWatchEvent> | undefined;
  /**
   * A watch is open or being opened, or a retry is due. Otherwise the resource is not installed.
   */
  #active = false;
  #stopped = false;
  /** Ends the wait for the first state. */
  #giveUp: ((reason: unknown) => void) | undefined;

  constructor(config: FollowerConfig, { group, resource, keeper, options }: Followed) {
    this.#config = config;
    this.#group = group;
    this.#resource = resource;
    this.#keeper = keeper;
    this.#options = options;
    this.#unsubscribe = config.catalog.onChange((change) => this.#onChange(change));
  }

  async start(): Promise<void> {
    if (this.#installed() === undefined) return;
    this.#active = true;
    await new Promise<void>((synced, failed) => {
      this.#giveUp = failed;
      void this.#listAndWatch(synced, this.#options.waits === true ? undefined : failed);
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#unsubscribe();
    this.#stream?.stop();
    this.#giveUp?.(new Error(`follower: stopped before ${this.#resource} could be read`));
  }

  #installed(): Kind | undefined {
    const kind = this.#config.catalog.snapshot().stored(this.#group, this.#resource);
    return kind?.rest.watch === undefined ? undefined : kind;
  }

  #onChange({ added }: CatalogChange): void {
    if (
      this.#active ||
      !added.some(({ type }) => type.group === this.#group && type.resource === this.#resource)
    )
      return;
    this.#active = true;
    void this.#listAndWatch();
  }

  /**
   * Reads one watch to its end, and then opens the next one. Deletions must not be missed, since
   * permissions may depend on deleted objects.
   */
  async #listAndWatch(onSynced?: () => void, onFailed?: (err: unknown) => void): Promise<void> {
    const { clock, logger } = this.#config;
    const of = { group: this.#group, resource: this.#resource };
    const kind = this.#installed();
    if (kind !== undefined && !this.#stopped) {
      try {
        await this.#read(kind, onSynced);
        logger.debug('follower: watch ended', of);
      } catch (error) {
        onFailed?.(error);
        logger.warn('follower: list and watch failed, retrying', { ...of, err: error });
      }
    }
    if (this.#stopped) return;
    const next = this.#installed();
    if (next === undefined) {
      this.#active = false;
      for (const key of this.#keys) this.#forget(key);
      onSynced?.();
      return;
    }
    // The store was closed, and another one has replaced it.
    if (next !== kind) return this.#listAndWatch(onSynced);
    clock.setTimer(RETRY_MS, () => void this.#listAndWatch(onSynced));
  }

  /**
   * Reads one watch. `onSynced` is called when the initial state is complete; objects that are not
   * in it have been deleted.
   */
  async #read({ rest }: Kind, onSynced?: () => void): Promise<void> {
    const { namespace = '', selection = everything, onlyChangesSince } = this.#options;
    const hasKeys = onlyChangesSince === undefined;
    const stream = hasKeys
      ? (await watchAll(rest, namespace, { selection, sendInitialEvents: true }))!
      : await watchChanges(rest, namespace, selection);
    this.#stream = stream;
    if (this.#stopped) stream.stop();
    const {
      decode = (encoded: EncodedObject) => encoded.object() as KubeObject,
      decodeInitial = decode,
      objectsPerTurn = Infinity,
    } = this.#options;
    const seen = new Set<string>();
    let syncing = hasKeys;
    let count = 0;
    if (!hasKeys) {
      onlyChangesSince();
      onSynced?.();
    }
    for await (const first of stream) {
      // Events that arrived together are taken together, so that the keeper is no later than a client.
      for (const { type, object } of [first, ...(stream.drain?.() ?? [])]) {
        if (type === 'ERROR') return;
        if (type === 'BOOKMARK') {
          if (!syncing) continue;
          syncing = false;
          for (const key of [...this.#keys].filter((each) => !seen.has(each))) this.#forget(key);
          seen.clear();
          onSynced?.();
          continue;
        }
        if (++count % objectsPerTurn === 0) await nextTurn();
        const value = syncing ? decodeInitial(object) : decode(object);
        const key = keyOf(value);
        if (type === 'DELETED') {
          if (!hasKeys || this.#keys.delete(key)) this.#keeper.delete(key, object);
          continue;
        }
        if (syncing) seen.add(key);
        if (hasKeys) this.#keys.add(key);
        this.#keeper.set(value, object);
      }
    }
  }

  #forget(key: string): void {
    if (this.#keys.delete(key)) this.#keeper.delete(key);
  }
}
