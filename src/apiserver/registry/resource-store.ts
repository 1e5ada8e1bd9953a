// The store of one resource in the version that it serves: the semantics of get, list, watch,
// create, update and delete that all kinds share, on top of Storage. The differences between kinds
// are in their strategies. All errors are StatusError.
//
// Versions. The keys of a resource may hold objects in several versions: objects of older servers
// stay until they are written again. A state in another version is converted when it is read. A
// write always stores the object in the stored version. Two served versions of a kind are two
// stores on the same keys. docs/update-path.md has a picture of an update.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { MAX_BODY_VALUES } from '#api/machinery/codec/limits.ts';
import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { countUpTo, isLarge, nextTurn, runStepsInTurns } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { generateName } from '#machinery/text/names.ts';
import type { Random } from '#machinery/random.ts';
import type { WatchStream } from '#machinery/watch.ts';
import {
  type KeyValue,
  type Storage,
  StorageError,
  type UpdateDecision,
} from '#storage/interface.ts';
import type { EncodedObject, EncodedWatchEvent } from '../request.ts';
import { decideDeletion, finishesDeletion } from './deletion.ts';
import {
  FreshObject,
  ObjectFormat,
  type ServedObject,
  SharedWatchEvent,
} from './encoded-object.ts';
import { deepEqual } from '#machinery/deep.ts';
import { EventSource } from './event-source.ts';
import { FieldIndexes } from './field-indexes.ts';
import { listObjects } from './listing.ts';
import { desiredStateChanged, fillForCreate, inNamespace, keepForUpdate } from './metadata.ts';
import { validateMetadata, validateMetadataUpdate } from './metadata-validation.ts';
import { type Normalize, ObjectCache } from './object-cache.ts';
import type { ObjectConverter } from './object-converter.ts';
import { checkDeletePreconditions, checkPreconditions, checkVersion } from './preconditions.ts';
import type {
  CreateOptions,
  DeleteAnswer,
  DeleteOptions,
  GetOptions,
  ListAnswer,
  ListOptions,
  ObjectUpdate,
  Rest,
  StoredForm,
  UpdateOptions,
  WatchOptions,
} from './rest.ts';
import { parseResourceVersion } from './resource-version.ts';
import type { ResourceMetrics, StorageMetrics } from './storage-metrics.ts';
import { storagePrefix } from './storage-prefix.ts';
import { metadataFields, type SelectableFields } from './selectable-fields.ts';
import { storageToStatus } from './storage-errors.ts';
import type {
  RequestContext,
  Reservation,
  ResourceStrategy,
  StrategyContext,
  SubresourceStrategy,
} from './strategy.ts';

/** The services of every resource store; the same for all stores of a server. */
export interface StoreServices {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Counts objects and events of the storage. Default: they are not counted. */
  readonly storageMetrics?: StorageMetrics;
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

/** The number of attempts if a generated name is in use. */
const GENERATE_NAME_ATTEMPTS = 8;
/** The number of concurrent deletions of one deletecollection. */
const COLLECTION_WORKERS = 16;

/** The maximum size of an object, the same as that of a body. */
const MAX_OBJECT_BYTES = 3 * 1024 * 1024;
const MAX_OBJECT_VALUES = MAX_BODY_VALUES;
/** Shorter objects cannot have too many values. */
const MANY_VALUES_BYTES = 2 * MAX_OBJECT_VALUES;

export class ResourceStore<T extends KubeObject = KubeObject> implements Rest {
  readonly type: ResourceType;
  readonly strategy: ResourceStrategy<T>;
  /**
   * The type of the stored objects. Validation errors name it; other errors name the requested
   * type.
   */
  readonly #storedType: ResourceType;
  /** The prefix of the resource's keys, which ends in '/'. */
  readonly prefix: string;
  readonly returnsDeletedObject: boolean;
  readonly resetFields?: readonly (readonly string[])[];
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #format: ObjectFormat;
  readonly #cache: ObjectCache;
  readonly #events: EventSource;
  readonly #indexes: FieldIndexes;
  readonly #selectableFields: SelectableFields;
  readonly #metrics: ResourceMetrics | undefined;

  constructor(config: ResourceStoreConfig<T>) {
    const { type, strategy, storedType = type } = config;
    this.type = type;
    this.strategy = strategy;
    this.#storedType = storedType;
    this.prefix = storagePrefix(storedType);
    this.returnsDeletedObject = strategy.returnDeletedObject ?? false;
    if (strategy.resetFields !== undefined) this.resetFields = strategy.resetFields;
    this.#storage = config.storage;
    this.#clock = config.clock;
    const apiVersion = apiVersionOf(type);
    const isStored = apiVersion === apiVersionOf(storedType);
    // A source of its own makes names and UIDs of one resource independent of other resources.
    this.#random = config.random.derive(isStored ? this.prefix : `${this.prefix}${apiVersion}`);
    this.#format = new ObjectFormat(apiVersion, type.kind);
    this.#cache = new ObjectCache({
      format: this.#format,
      ...(!isStored && {
        storedFormat: new ObjectFormat(apiVersionOf(storedType), storedType.kind),
      }),
      converter: config.converter,
      normalize: config.normalize,
      freeze: config.detectMutations,
      decoded: config.storage.decoded,
    });
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
    const reading = this.#read(context.namespace, name);
    const kv = reading instanceof Promise ? await reading : reading;
    if (minimum > 0) await this.#mustHaveReached(minimum);
    if (kv === undefined) throw apierrors.notFound(this.type, name);
    return this.#cache.read(kv);
  }

  /** Returns the decoded object for other parts of the server; undefined if it does not exist. */
  find(namespace: string, name: string): Awaitable<T | undefined> {
    return andThen(this.#read(namespace, name), (kv) =>
      kv === undefined ? undefined : andThen(this.#cache.read(kv), objectOf<T>),
    );
  }

  list(context: RequestContext, options: ListOptions): Promise<ListAnswer> {
    return this.#list(context.namespace, options);
  }

  /** Returns all decoded objects for other parts of the server. '': of all namespaces. */
  findAll(namespace: string): Awaitable<readonly T[]> {
    const prefix = this.#prefixOf(namespace);
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
    const { allowBookmarks: bookmarks, timeoutMs, latestBeats = false, emptyObject } = options;
    const subscription = {
      namespace,
      selection,
      bookmarks,
      latestBeats,
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

  async create(
    context: RequestContext,
    _parent: string,
    object: KubeObject,
    options: CreateOptions,
  ): Promise<EncodedObject> {
    const strategyContext = this.#strategyContext(context, options.dryRun);
    const generated =
      (object.metadata.name ?? '') === '' && (object.metadata.generateName ?? '') !== '';
    for (let attempt = 1; ; attempt++) {
      const named = generated
        ? {
            ...object,
            metadata: {
              ...object.metadata,
              name: generateName(object.metadata.generateName!, this.#random),
            },
          }
        : object;
      const preparing = this.#prepareCreate(context, named as T, strategyContext, options);
      const prepared = preparing instanceof Promise ? await preparing : preparing;
      // Upstream's storage makes this check, which a dry run does not reach.
      const { resourceVersion = '' } = object.metadata;
      if (!options.dryRun && resourceVersion !== '' && resourceVersion !== '0') {
        await prepared.rollback();
        throw apierrors.badRequest('resourceVersion should not be set on objects to be created');
      }
      try {
        return await this.#insert(prepared, strategyContext, options);
      } catch (error) {
        if (!(error instanceof StorageError)) throw error;
        if (error.reason === 'KeyExists' && generated && attempt < GENERATE_NAME_ATTEMPTS) continue;
        throw await this.#createError(error, prepared.object, generated);
      }
    }
  }

  /** Returns the object to write (prepared, validated, and admitted), with its reservation. */
  #prepareCreate(
    context: RequestContext,
    object: T,
    strategyContext: StrategyContext,
    options: Pick<CreateOptions, 'validate' | 'large'>,
  ): Awaitable<Reservation<T>> {
    const { strategy } = this;
    let prepared = inNamespace(object, context.namespace);
    const generation = Boolean(strategy.generation) && (strategy.initialGeneration ?? 1);
    prepared = fillForCreate(prepared, strategyContext.now, this.#random, generation || undefined);
    if (strategy.prepareForCreate !== undefined)
      prepared = strategy.prepareForCreate(prepared, strategyContext);
    const reservation =
      strategy.reserveForCreate?.(prepared, strategyContext) ?? nothingReserved(prepared);
    return andThen(reservation, (reserved) =>
      this.#checkCreate(context, reserved, strategyContext, options),
    );
  }

  /** Checks the object, and rolls the reservation back if it is rejected. */
  #checkCreate(
    context: RequestContext,
    reservation: Reservation<T>,
    strategyContext: StrategyContext,
    options: Pick<CreateOptions, 'validate' | 'large'>,
  ): Awaitable<Reservation<T>> {
    const prepared = reservation.object;
    const refused = async (error: unknown): Promise<never> => {
      await reservation.rollback();
      throw error;
    };
    try {
      if (options.large === true) {
        return this.#validateLarge(context, prepared, strategyContext)
          .then(() => options.validate?.(prepared, undefined))
          .then(() => reservation, refused);
      }
      const errors = this.#metadataErrors(prepared);
      const checked = andThen(this.#otherErrors(prepared, strategyContext, errors), (others) => {
        this.#checkErrors(prepared, errors, others);
        this.#warnOnCreate(context, prepared, strategyContext);
        return options.validate?.(prepared, undefined);
      });
      return checked instanceof Promise ? checked.then(() => reservation, refused) : reservation;
    } catch (error) {
      return refused(error);
    }
  }

  /**
   * Validates a new object, each step in a separate turn of the event loop. Throws StatusError
   * (422).
   */
  async #validateLarge(
    context: RequestContext,
    object: T,
    strategyContext: StrategyContext,
  ): Promise<void> {
    await nextTurn();
    const errors = this.#metadataErrors(object);
    await nextTurn();
    const others = this.#otherErrors(object, strategyContext, errors);
    this.#checkErrors(object, errors, others instanceof Promise ? await others : others);
    await nextTurn();
    this.#warnOnCreate(context, object, strategyContext);
  }

  #metadataErrors(object: T): field.FieldErrorList {
    return field.bounded(() => validateMetadata(object, this.type.namespaced, this.strategy));
  }

  #otherErrors(
    object: T,
    strategyContext: StrategyContext,
    prior: field.FieldErrorList,
  ): Awaitable<field.FieldErrorList> {
    const { strategy } = this;
    if (strategy.validateInSteps !== undefined) {
      return runStepsInTurns(strategy.validateInSteps(object, strategyContext, prior));
    }
    return field.bounded(() => strategy.validate(object, strategyContext));
  }

  /** Throws StatusError (422) if there are errors. */
  #checkErrors(object: T, ofMetadata: field.FieldErrorList, others: field.FieldErrorList): void {
    if (ofMetadata.length === 0 && others.length === 0) return;
    throw apierrors.invalid(
      this.#storedType,
      nameOf(object),
      [...ofMetadata, ...others].slice(0, field.MAX_FIELD_ERRORS),
    );
  }

  #warnOnCreate(context: RequestContext, object: T, strategyContext: StrategyContext): void {
    const { strategy } = this;
    if (strategy.warningsOnCreate === undefined) return;
    context.warnings.push(...strategy.warningsOnCreate(object, strategyContext));
  }

  async #insert(
    reservation: Reservation<T>,
    context: StrategyContext,
    { storedForm = asItIs, large = false }: Pick<CreateOptions, 'storedForm' | 'large'>,
  ): Promise<EncodedObject> {
    const object = storedForm(reservation.object);
    if (large) await nextTurn();
    const key = this.#key(object.metadata.namespace ?? '', object.metadata.name);
    let kv: KeyValue;
    try {
      if (context.dryRun) {
        if ((await this.#storage.get(key)) !== undefined)
          throw new StorageError('KeyExists', 'the key exists', { key });
        await reservation.rollback();
        return new FreshObject(this.#identified(object));
      }
      const encoding = this.#encode(object);
      const value = encoding instanceof Promise ? await encoding : encoding;
      kv = await this.#storage.create(key, value, { ttlMs: this.strategy.ttlMs?.(object) });
    } catch (error) {
      if (!isOutcomeUnknown(error)) await reservation.rollback();
      throw error;
    }
    const committed = reservation.commit();
    if (committed instanceof Promise) await committed;
    return this.#cache.written(kv);
  }

  async #createError(error: StorageError, object: T, generated: boolean): Promise<unknown> {
    const { name, namespace } = object.metadata;
    if (error.reason !== 'KeyExists') return storageToStatus(error, { resource: this.type, name });
    if (generated) return apierrors.generateNameConflict(this.type, name, 1);
    const status = apierrors.alreadyExists(this.type, name);
    const existing = await this.find(namespace ?? '', name);
    if (existing?.metadata.deletionTimestamp === undefined) return status;
    return apierrors.fromStatus({
      ...status.status,
      message: `object is being deleted: ${status.message}`,
    });
  }

  update(
    context: RequestContext,
    name: string,
    update: ObjectUpdate,
    options: UpdateOptions,
  ): Promise<UpdateAnswer> {
    return this.#update(
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
        this.#update(context, name, update, options, strategy, strategy.generation ?? false),
    };
  }

  /**
   * Updates an object; see docs/update-path.md. The storage calls `#decideUpdate`, which calls
   * `update.apply`, again after each conflict.
   */
  async #update(
    context: RequestContext,
    name: string,
    update: ObjectUpdate,
    options: UpdateOptions,
    strategy: ResourceStrategy<T> | SubresourceStrategy<T>,
    generation: ResourceStrategy<T>['generation'],
  ): Promise<UpdateAnswer> {
    const key = this.#key(context.namespace, name);
    const strategyContext = this.#strategyContext(context, options.dryRun);
    const call: UpdateCall<T> = {
      context,
      name,
      update,
      options,
      strategy,
      generation,
      strategyContext,
    };
    const attempt: UpdateAttempt<T> = { object: undefined, warnings: [], reservation: undefined };
    const decide = (current: KeyValue | undefined): Promise<UpdateDecision> => {
      const proceed = (): Promise<UpdateDecision> =>
        current === undefined
          ? this.#decideCreation(call, attempt)
          : this.#decideUpdate(call, attempt, current);
      // The previous attempt met a conflict.
      const { reservation } = attempt;
      attempt.reservation = undefined;
      attempt.object = undefined;
      return reservation === undefined
        ? proceed()
        : Promise.resolve(reservation.rollback()).then(proceed);
    };
    try {
      if (options.dryRun) {
        const dryRunResult = await this.#dryRunUpdate(key, decide, attempt);
        await attempt.reservation?.rollback();
        context.warnings.push(...attempt.warnings);
        return dryRunResult;
      }
      const result = await this.#storage.guaranteedUpdate(key, decide);
      if (attempt.reservation !== undefined) await attempt.reservation.commit();
      context.warnings.push(...attempt.warnings);
      const { object } = attempt;
      if (result.kv !== undefined) {
        const isWritten = object !== undefined && result.kv !== result.previous;
        const served = isWritten ? this.#cache.written(result.kv) : this.#cache.read(result.kv);
        return {
          object: served instanceof Promise ? await served : served,
          created: result.previous === undefined,
        };
      }
      await this.#deleted(key, object!);
      return { object: this.#lastState(object!, result.revision), created: false };
    } catch (error) {
      if (!isOutcomeUnknown(error)) await attempt.reservation?.rollback();
      throw storageToStatus(error, { resource: this.type, name });
    }
  }

  /** Decides an update of a name that does not exist: it creates the object, or fails. */
  async #decideCreation(call: UpdateCall<T>, attempt: UpdateAttempt<T>): Promise<UpdateDecision> {
    const { context, name, update, options, strategy, strategyContext } = call;
    if (!(options.forceAllowCreate ?? strategy.allowCreateOnUpdate ?? false))
      throw apierrors.notFound(this.type, name);
    checkPreconditions(this.type, name, update.preconditions, undefined);
    const object = (await update.apply(undefined)) as T;
    const large = isLarge(object);
    if ((object.metadata.resourceVersion ?? '') !== '' && object.metadata.resourceVersion !== '0') {
      throw apierrors.notFound(this.type, name);
    }
    attempt.reservation = await this.#prepareCreate(context, object, strategyContext, {
      validate: options.validateCreate,
      large,
    });
    attempt.object = (options.storedForm ?? asItIs)(attempt.reservation.object);
    return {
      action: 'put',
      value: await this.#encode(attempt.object),
      ttlMs: this.strategy.ttlMs?.(attempt.object),
    };
  }

  async #decideUpdate(
    call: UpdateCall<T>,
    attempt: UpdateAttempt<T>,
    current: KeyValue,
  ): Promise<UpdateDecision> {
    const { context, name, update, options, strategy, generation, strategyContext } = call;
    // Synchronous results are not awaited, here and below, since an await costs a turn of the
    // microtask queue.
    const reading = this.#cache.read(current);
    const old = (reading instanceof Promise ? await reading : reading).object() as T;
    checkPreconditions(this.type, name, update.preconditions, old);
    const applied = update.apply(old);
    const changed = (applied instanceof Promise ? await applied : applied) as T;
    // Large objects are never returned synchronously.
    const large = applied instanceof Promise && isLarge(changed);
    if (large) await nextTurn();
    // An object in an older version is written even if it is unchanged. So it is migrated.
    const isStoredVersion = this.#cache.isStoredVersion(current);
    if (changed === old && isStoredVersion) return { action: 'keep' };
    const allowUnconditional =
      strategy.allowUnconditionalUpdate ?? this.strategy.allowUnconditionalUpdate ?? true;
    checkVersion(this.type, changed, old, allowUnconditional);
    let object = keepForUpdate(inNamespace(changed, context.namespace), old);
    if (strategy.prepareForUpdate !== undefined)
      object = strategy.prepareForUpdate(object, old, strategyContext);
    if (strategy.reserveForUpdate !== undefined) {
      attempt.reservation = await strategy.reserveForUpdate(object, old, strategyContext);
      object = attempt.reservation.object;
    }
    object = this.#countGeneration(object, old, generation);
    const names =
      strategy === this.strategy
        ? this.strategy
        : { anyFinalizer: this.strategy.anyFinalizer === true };
    const candidate = object;
    const errors = field.bounded(() => validateMetadataUpdate(candidate, old, names));
    if (large) await nextTurn();
    const steps = strategy.validateUpdateInSteps?.(candidate, old, strategyContext, errors);
    const others =
      steps === undefined
        ? field.bounded(() => strategy.validateUpdate(candidate, old, strategyContext))
        : await runStepsInTurns(steps);
    this.#checkErrors(object, errors, others);
    attempt.warnings = strategy.warningsOnUpdate?.(object, old, strategyContext) ?? [];
    const validated = options.validate?.(object, old);
    if (validated instanceof Promise) await validated;
    object = (options.storedForm ?? asItIs)(object);
    attempt.object = object;
    if (finishesDeletion(object, old, this.strategy)) return { action: 'delete' };
    const encoding = this.#encode(object);
    const value = encoding instanceof Promise ? await encoding : encoding;
    if (isStoredVersion && this.#isSameState(value, current, object, old))
      return { action: 'keep' };
    return { action: 'put', value, ttlMs: this.strategy.ttlMs?.(object) };
  }

  async #dryRunUpdate(
    key: string,
    decide: (current: KeyValue | undefined) => Promise<UpdateDecision>,
    attempt: UpdateAttempt<T>,
  ): Promise<UpdateAnswer> {
    const current = await this.#storage.get(key);
    const decision = await decide(current);
    if (decision.action === 'keep' && current !== undefined)
      return { object: await this.#cache.read(current), created: false };
    return {
      object: new FreshObject(this.#identified(attempt.object!)),
      created: current === undefined,
    };
  }

  delete(context: RequestContext, name: string, options: DeleteOptions): Promise<DeleteAnswer> {
    context.warnings.push(...(this.strategy.warningsOnDelete?.(options) ?? []));
    return this.#delete(context, name, options);
  }

  async #delete(
    context: RequestContext,
    name: string,
    options: DeleteOptions,
  ): Promise<DeleteAnswer> {
    const key = this.#key(context.namespace, name);
    const strategyContext = this.#strategyContext(context, options.dryRun);
    // Results of the last attempt; `decide` runs again after a conflict.
    let old: T | undefined;
    let marked: T | undefined;
    /** The deleted object for the response. */
    let shown: T | undefined;
    const decide = async (current: KeyValue | undefined): Promise<UpdateDecision> => {
      marked = undefined;
      if (current === undefined) throw apierrors.notFound(this.type, name);
      old = (await this.#cache.read(current)).object() as T;
      // As upstream, kinds whose deletion has steps of its own have the messages of updates.
      if (this.strategy.hasPendingFinalizers !== undefined)
        checkPreconditions(this.type, name, options.preconditions, old);
      else checkDeletePreconditions(this.#storedType, name, options.preconditions, old);
      this.strategy.validateDelete?.(old, strategyContext);
      await options.validate?.(old, old);
      const decision = decideDeletion(old, options, this.strategy, strategyContext);
      if (decision.action === 'delete') shown = decision.last ?? old;
      if (decision.action !== 'mark') return { action: decision.action };
      marked = decision.object;
      const value = await this.#cache.encode(marked);
      const isSame =
        this.#cache.isStoredVersion(current) && this.#isSameState(value, current, marked, old);
      return isSame ? { action: 'keep' } : { action: 'put', value };
    };
    try {
      if (options.dryRun) {
        const decision = await decide(await this.#storage.get(key));
        if (decision.action === 'delete')
          return { object: this.#deletionResult(shown!), deleted: true };
        return { object: new FreshObject(marked ?? old), deleted: false };
      }
      const result = await this.#storage.guaranteedUpdate(key, decide);
      if (result.kv !== undefined) {
        const changed = marked !== undefined && result.kv !== result.previous;
        return {
          object: await (changed ? this.#cache.written(result.kv) : this.#cache.read(result.kv)),
          deleted: false,
        };
      }
      const last = old!;
      await this.#deleted(key, last);
      return { object: this.#deletionResult(shown ?? last, result.revision), deleted: true };
    } catch (error) {
      throw storageToStatus(error, { resource: this.type, name });
    }
  }

  /**
   * Deletes the objects of a list one by one. A missing object is not an error; any other error
   * ends the deletion.
   */
  async deleteCollection(
    context: RequestContext,
    options: DeleteOptions,
    list: ListOptions,
  ): Promise<ListAnswer> {
    context.warnings.push(...(this.strategy.warningsOnDelete?.(options) ?? []));
    const selected = await this.#list(context.namespace, list);
    const pending = selected.items.values();
    const deleted: EncodedObject[] = [];
    const deleteNext = async (): Promise<void> => {
      for (const item of pending) {
        const { name, namespace } = (item.object() as KubeObject).metadata;
        try {
          await this.#delete({ ...contextOf(context), namespace: namespace ?? '' }, name, options);
          deleted.push(item);
        } catch (error) {
          if (!apierrors.isNotFound(error)) throw error;
        }
      }
    };
    await Promise.all(
      Array.from({ length: Math.min(COLLECTION_WORKERS, selected.items.length) }, deleteNext),
    );
    return { ...selected, items: deleted };
  }

  #read(namespace: string, name: string): Awaitable<KeyValue | undefined> {
    const key = this.#key(namespace, name);
    const failed = (error: unknown): never => {
      throw storageToStatus(error, { resource: this.type, name });
    };
    const { now } = this.#storage;
    if (now === undefined) return this.#storage.get(key).catch(failed);
    try {
      return now.get(key);
    } catch (error) {
      return failed(error);
    }
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

  /**
   * Returns the bytes to store; for a large object in a later turn of the event loop. Throws
   * StatusError (413) if the object exceeds the maximum size: repeated patches could make it larger
   * and larger, and each request for it slower.
   */
  #encode(object: T): Awaitable<Uint8Array> {
    return andThen(this.#cache.encode(object), (value) => {
      if (value.length <= MANY_VALUES_BYTES) return value;
      return nextTurn().then(() => {
        if (
          value.length <= MAX_OBJECT_BYTES &&
          countUpTo(object, MAX_OBJECT_VALUES + 1) <= MAX_OBJECT_VALUES
        )
          return value;
        throw apierrors.requestEntityTooLarge(
          `limits of an object are ${MAX_OBJECT_BYTES} bytes and ${MAX_OBJECT_VALUES} values`,
        );
      });
    });
  }

  /**
   * Reports whether the write would change nothing, so that no revision and no watch event is
   * needed.
   */
  #isSameState(value: Uint8Array, { value: current }: KeyValue, object: T, old: T): boolean {
    if (value.length !== current.length) return false;
    if (Buffer.compare(value, current) === 0) return true;
    // Objects that differ only in data that the conversion drops are equal after conversion, so the
    // stored objects are compared.
    if (!this.#cache.storesServedVersion)
      return deepEqual(decodeFromStorage(value, 0), decodeFromStorage(current, 0));
    return deepEqual(withoutRevision(object), withoutRevision(old));
  }

  #key(namespace: string, name: string): string {
    return this.type.namespaced ? `${this.prefix}${namespace}/${name}` : this.prefix + name;
  }

  #prefixOf(namespace: string): string {
    return this.type.namespaced && namespace !== '' ? `${this.prefix}${namespace}/` : this.prefix;
  }

  #strategyContext(request: RequestContext, dryRun: boolean): StrategyContext {
    return { request, now: this.#clock.now(), dryRun };
  }

  #countGeneration(object: T, old: T, generation: ResourceStrategy<T>['generation']): T {
    if (generation === undefined || generation === false) return object;
    const changed =
      generation === true ? desiredStateChanged(object, old) : generation(object, old);
    if (!changed) return object;
    return {
      ...object,
      metadata: { ...object.metadata, generation: (old.metadata.generation ?? 0) + 1 },
    };
  }

  /** Returns the object with kind and apiVersion, which clients may omit. */
  #identified(object: T): T {
    return { ...object, kind: this.#format.kind, apiVersion: this.#format.apiVersion };
  }

  #lastState(object: T, revision: number): EncodedObject {
    return new FreshObject(
      this.#identified({
        ...object,
        metadata: { ...object.metadata, resourceVersion: String(revision) },
      }),
    );
  }

  async #deleted(key: string, object: T): Promise<void> {
    this.#cache.forget(key);
    await this.strategy.afterDelete?.(object);
  }

  #deletionResult(object: T, revision?: number): EncodedObject {
    if (this.strategy.returnDeletedObject === true) {
      return revision === undefined ? new FreshObject(object) : this.#lastState(object, revision);
    }
    const { name, uid } = object.metadata;
    const { group, resource } = this.type;
    return new FreshObject({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name, ...(group !== '' && { group }), kind: resource, uid },
    });
  }
}

export interface UpdateAnswer {
  readonly object: EncodedObject;
  readonly created: boolean;
}

/** The arguments of an update. */
interface UpdateCall<T extends KubeObject> {
  readonly context: RequestContext;
  readonly name: string;
  readonly update: ObjectUpdate;
  readonly options: UpdateOptions;
  readonly strategy: ResourceStrategy<T> | SubresourceStrategy<T>;
  readonly generation: ResourceStrategy<T>['generation'];
  readonly strategyContext: StrategyContext;
}

/**
 * The results of the last attempt of an update. After a conflict, they are reset for the next
 * attempt.
 */
interface UpdateAttempt<T> {
  /** The object to write; undefined: nothing is written. */
  object: T | undefined;
  warnings: readonly string[];
  reservation: Reservation<T> | undefined;
}

function objectOf<T>(served: ServedObject): T {
  return served.object() as unknown as T;
}

function withoutRevision(object: KubeObject): object {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata, kind: '', apiVersion: '' };
}

/** Reports whether the write may have been made, or may still be made. */
function isOutcomeUnknown(error: unknown): boolean {
  return (
    error instanceof StorageError && (error.reason === 'Unavailable' || error.reason === 'Closed')
  );
}

const NOTHING = (): void => undefined;

const asItIs: StoredForm = (object) => object;

function nothingReserved<T>(object: T): Reservation<T> {
  return { object, commit: NOTHING, rollback: NOTHING };
}

function nameOf(object: KubeObject): string {
  return object.metadata.name || (object.metadata.generateName ?? '');
}

/** Returns only the context of a request, whose class has more members that must not be spread. */
function contextOf(context: RequestContext): RequestContext {
  const { user, namespace, warnings } = context;
  return {
    user,
    namespace,
    warnings,
    get signal() {
      return context.signal;
    },
  };
}
