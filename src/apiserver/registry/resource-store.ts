// The store of one resource in the version that it serves: the semantics of get, list, watch,
// create, update and delete that all kinds share, on top of Storage (writes are in writes/). The
// differences between kinds are in their strategies. All errors are StatusError.
//
// Versions. The keys of a resource may hold objects in several versions: objects of older servers
// stay until they are written again. A state in another version is converted when it is read. A
// write always stores the object in the stored version. Two served versions of a kind are two
// stores on the same keys. docs/update-path.md has a picture of an update.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { WatchStream } from '#machinery/watch.ts';
import type { KeyValue, Storage } from '#storage/interface.ts';
import type { EncodedObject, EncodedWatchEvent } from '../request.ts';
import { ObjectFormat, SharedWatchEvent } from './encoded-object.ts';
import { EventSource } from './event-source.ts';
import { FieldIndexes } from './field-indexes.ts';
import { listObjects } from './listing.ts';
import { type Normalize, ObjectCache } from './object-cache.ts';
import type { ObjectConverter } from './object-converter.ts';
import type {
  CreateOptions,
  DeleteAnswer,
  DeleteOptions,
  GetOptions,
  ListAnswer,
  ListOptions,
  ObjectUpdate,
  Rest,
  UpdateOptions,
  WatchOptions,
} from './rest.ts';
import type { RenewedStates } from './renewed-states.ts';
import { parseResourceVersion } from './resource-version.ts';
import { metadataFields, type SelectableFields } from './selectable-fields.ts';
import { storageToStatus } from './storage-errors.ts';
import type { ResourceMetrics, StorageMetrics } from './storage-metrics.ts';
import { storagePrefix } from './storage-prefix.ts';
import type { RequestContext, ResourceStrategy, SubresourceStrategy } from './strategy.ts';
import { ObjectCreator } from './writes/create.ts';
import { ObjectDeleter } from './writes/delete.ts';
import { objectOf, StoredObjects } from './writes/stored-objects.ts';
import { ObjectUpdater, type UpdateAnswer } from './writes/update.ts';

/** The services of every resource store; the same for all stores of a server. */
export interface StoreServices {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Counts objects and events of the storage. Default: they are not counted. */
  readonly storageMetrics?: StorageMetrics;
  /** Which states were renewed together. Default: none. */
  readonly renewed?: RenewedStates;
  /**
   * Lists at resourceVersion 0 keep their limit. Upstream's watch cache ignores it there; events and
   * servers with --watch-cache=false have no such cache. Default: false.
   */
  readonly listsKeepLimit?: boolean;
  /** Freezes objects, so that modifying one throws. For tests. Default: false. */
  readonly detectMutations?: boolean;
}

export interface ResourceStoreConfig<T extends KubeObject> extends StoreServices {
  /** The served type. The strategy, selectors and indexes see objects in this version. */
  readonly type: ResourceType;
  readonly strategy: ResourceStrategy<T>;
  /** The fields of field selectors. Default: only metadata.name and metadata.namespace. */
  readonly selectableFields?: SelectableFields;
  /**
   * The type in which objects are stored. It determines the keys, and errors name it. Default:
   * `type`.
   */
  readonly storedType?: ResourceType;
  /**
   * Converts between all versions in which objects are served or stored. Default: there is one
   * version; states in other versions are errors (500).
   */
  readonly converter?: ObjectConverter;
  /**
   * Normalizes stored objects in the served version when they are read, because their schema may
   * have changed since they were written. The converter does so for objects in other versions.
   * Default: stored objects are served unchanged.
   */
  readonly normalize?: Normalize;
}

export class ResourceStore<T extends KubeObject = KubeObject> implements Rest {
  readonly type: ResourceType;
  readonly strategy: ResourceStrategy<T>;
  /** The prefix of the resource's keys, which ends in '/'. */
  readonly prefix: string;
  readonly returnsDeletedObject: boolean;
  readonly resetFields?: readonly (readonly string[])[];
  readonly #storage: Storage;
  readonly #cache: ObjectCache;
  readonly #objects: StoredObjects<T>;
  readonly #creator: ObjectCreator<T>;
  readonly #updater: ObjectUpdater<T>;
  readonly #deleter: ObjectDeleter<T>;
  readonly #events: EventSource;
  readonly #indexes: FieldIndexes;
  readonly #selectableFields: SelectableFields;
  readonly #metrics: ResourceMetrics | undefined;
  readonly #listsKeepLimit: boolean;

  constructor(config: ResourceStoreConfig<T>) {
    const { type, strategy, storedType = type } = config;
    this.type = type;
    this.strategy = strategy;
    this.prefix = storagePrefix(storedType);
    this.returnsDeletedObject = strategy.returnDeletedObject ?? false;
    if (strategy.resetFields !== undefined) this.resetFields = strategy.resetFields;
    this.#listsKeepLimit = strategy.listsKeepLimit ?? config.listsKeepLimit ?? false;
    this.#storage = config.storage;
    const apiVersion = apiVersionOf(type);
    const isStored = apiVersion === apiVersionOf(storedType);
    // A source of its own makes names and UIDs of one resource independent of other resources.
    const random = config.random.derive(isStored ? this.prefix : `${this.prefix}${apiVersion}`);
    const format = new ObjectFormat(apiVersion, type.kind);
    this.#cache = new ObjectCache({
      format,
      ...(!isStored && {
        storedFormat: new ObjectFormat(apiVersionOf(storedType), storedType.kind),
      }),
      converter: config.converter,
      normalize: config.normalize,
      freeze: config.detectMutations,
      decoded: config.storage.decoded,
    });
    this.#objects = new StoredObjects({
      type,
      storedType,
      strategy,
      prefix: this.prefix,
      storage: config.storage,
      clock: config.clock,
      random,
      cache: this.#cache,
      format,
    });
    this.#creator = new ObjectCreator(this.#objects);
    this.#updater = new ObjectUpdater(this.#objects, this.#creator);
    this.#deleter = new ObjectDeleter(this.#objects);
    this.#selectableFields = config.selectableFields ?? metadataFields;
    // Only the stored version registers metrics, so that objects are counted once.
    this.#metrics = isStored
      ? config.storageMetrics?.register(type.group, type.resource, this.prefix)
      : undefined;
    this.#events = new EventSource({
      storage: config.storage,
      clock: config.clock,
      logger: config.logger,
      prefix: this.prefix,
      cache: this.#cache,
      namespaced: type.namespaced,
      apiVersion,
      kind: type.kind,
      selectableFields: this.#selectableFields,
      received: this.#metrics?.events,
      ...(config.renewed !== undefined && { renewed: config.renewed }),
    });
    this.#indexes = new FieldIndexes({
      storage: config.storage,
      cache: this.#cache,
      prefix: this.prefix,
      selectableFields: this.#selectableFields,
    });
  }

  /** Ends all watches normally. Reads and writes continue as long as the storage does. */
  close(): void {
    this.#events.close();
    this.#indexes.close();
    this.#metrics?.unregister();
  }

  async get(context: RequestContext, name: string, options: GetOptions): Promise<EncodedObject> {
    const minimum = parseResourceVersion(options.resourceVersion ?? '');
    const reading = this.#objects.read(context.namespace, name);
    const kv = reading instanceof Promise ? await reading : reading;
    if (minimum > 0) await this.#mustHaveReached(minimum);
    if (kv === undefined) throw apierrors.notFound(this.type, name);
    return this.#cache.read(kv);
  }

  /** Returns the decoded object for other parts of the server; undefined if it does not exist. */
  find(namespace: string, name: string): Awaitable<T | undefined> {
    return this.#objects.find(namespace, name);
  }

  list(context: RequestContext, options: ListOptions): Promise<ListAnswer> {
    return this.#list(context.namespace, options);
  }

  /** Returns all decoded objects for other parts of the server. '': of all namespaces. */
  findAll(namespace: string): Awaitable<readonly T[]> {
    const prefix = this.#objects.prefixOf(namespace);
    const failed = (error: unknown): never => {
      throw storageToStatus(error, { resource: this.type });
    };
    const decode = (kvs: readonly KeyValue[]): Awaitable<readonly T[]> =>
      andThen(this.#cache.readAll(kvs), (objects) => objects.map(objectOf<T>));
    const { now } = this.#storage;
    if (now === undefined)
      return this.#storage.list(prefix).then(({ items }) => decode(items), failed);
    try {
      return decode(now.list(prefix));
    } catch (error) {
      return failed(error);
    }
  }

  async watch(
    context: RequestContext,
    options: WatchOptions,
  ): Promise<WatchStream<EncodedWatchEvent>> {
    const { namespace } = context;
    const { selection } = options;
    const requested = parseResourceVersion(options.resourceVersion);
    const withState = options.sendInitialEvents ?? requested === 0;
    const { allowBookmarks: bookmarks, timeoutMs, emptyObject } = options;
    const { latestBeats = false, withoutRenewals = false } = options;
    const subscription = {
      namespace,
      selection,
      bookmarks,
      latestBeats,
      withoutRenewals,
      ...(emptyObject !== undefined && { emptyObject }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    };
    if (!withState) {
      const afterRevision = requested === 0 ? await this.#currentRevision() : requested;
      return this.#events.subscribe({ ...subscription, afterRevision });
    }
    // The event source is started first, so that no change is lost between the state and the
    // following events.
    await this.#events.start();
    const state = await this.#list(namespace, {
      selection,
      limit: 0,
      continue: '',
      resourceVersion: options.resourceVersion,
      resourceVersionMatch: requested === 0 ? '' : 'NotOlderThan',
    });
    const initial: EncodedWatchEvent[] = state.items.map(
      (item) => new SharedWatchEvent('ADDED', item),
    );
    const afterRevision = Number(state.resourceVersion);
    if (options.sendInitialEvents === true && bookmarks) {
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      initial.push(this.#events.bookmark(afterRevision, { annotations, emptyObject }));
    }
    return this.#events.subscribe({ ...subscription, afterRevision, initial });
  }

  create(
    context: RequestContext,
    _parent: string,
    object: KubeObject,
    options: CreateOptions,
  ): Promise<EncodedObject> {
    return this.#creator.create(context, object, options);
  }

  update(
    context: RequestContext,
    name: string,
    update: ObjectUpdate,
    options: UpdateOptions,
  ): Promise<UpdateAnswer> {
    return this.#updater.update(
      context,
      name,
      update,
      options,
      this.strategy,
      this.strategy.generation ?? false,
    );
  }

  /**
   * Returns a view of the same objects with other rules, for the status subresource and others. It
   * serves get, update and patch.
   */
  view(
    strategy: SubresourceStrategy<T>,
  ): Pick<Required<Rest>, 'get' | 'update'> & Pick<Rest, 'resetFields'> {
    return {
      ...(strategy.resetFields !== undefined && { resetFields: strategy.resetFields }),
      get: (context, name, options) => this.get(context, name, options),
      update: (context, name, update, options) =>
        this.#updater.update(
          context,
          name,
          update,
          options,
          strategy,
          strategy.generation ?? false,
        ),
    };
  }

  delete(context: RequestContext, name: string, options: DeleteOptions): Promise<DeleteAnswer> {
    return this.#deleter.delete(context, name, options);
  }

  /**
   * Deletes the objects of a list one by one. A missing object is not an error; any other error
   * ends the deletion.
   */
  deleteCollection(
    context: RequestContext,
    options: DeleteOptions,
    list: ListOptions,
  ): Promise<ListAnswer> {
    return this.#deleter.deleteAll(context, options, () => this.#list(context.namespace, list));
  }

  async #list(namespace: string, options: ListOptions): Promise<ListAnswer> {
    return listObjects(
      {
        storage: this.#storage,
        cache: this.#cache,
        resource: this.type,
        prefix: this.prefix,
        namespaced: this.type.namespaced,
        selectableFields: this.#selectableFields,
        indexes: this.#indexes,
        keepsLimit: this.#listsKeepLimit,
      },
      namespace,
      options,
    );
  }

  async #currentRevision(): Promise<number> {
    try {
      return await this.#storage.currentRevision();
    } catch (error) {
      throw storageToStatus(error);
    }
  }

  async #mustHaveReached(minimum: number): Promise<void> {
    const current = await this.#currentRevision();
    if (minimum > current) throw apierrors.tooLargeResourceVersion(minimum, current, 1);
  }
}
