// Creates objects: names and metadata, the strategy, validation and admission, and the write.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { generateName } from '#machinery/text/names.ts';
import { nextTurn, runStepsInTurns } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import { type KeyValue, StorageError } from '#storage/interface.ts';
import type { EncodedObject } from '../../request.ts';
import { FreshObject } from '../encoded-object.ts';
import { fillForCreate, inNamespace } from '../metadata.ts';
import { validateMetadata } from '../metadata-validation.ts';
import type { CreateOptions, StoredForm } from '../rest.ts';
import { storageToStatus } from '../storage-errors.ts';
import type {
  RequestContext,
  Reservation,
  ResourceStrategy,
  StrategyContext,
} from '../strategy.ts';
import { isOutcomeUnknown, type StoredObjects } from './stored-objects.ts';

/** The number of attempts if a generated name is in use. */
const GENERATE_NAME_ATTEMPTS = 8;

export class ObjectCreator<T extends KubeObject> {
  readonly #objects: StoredObjects<T>;
  readonly #strategy: ResourceStrategy<T>;

  constructor(objects: StoredObjects<T>) {
    this.#objects = objects;
    this.#strategy = objects.strategy;
  }

  /** Creates an object. Throws StatusError. */
  async create(
    context: RequestContext,
    object: KubeObject,
    options: CreateOptions,
  ): Promise<EncodedObject> {
    const strategyContext = this.#objects.strategyContext(context, options.dryRun);
    const generated =
      (object.metadata.name ?? '') === '' && (object.metadata.generateName ?? '') !== '';
    for (let attempt = 1; ; attempt++) {
      const named = generated
        ? {
            ...object,
            metadata: {
              ...object.metadata,
              name: generateName(object.metadata.generateName!, this.#objects.random),
            },
          }
        : object;
      const preparing = this.prepare(context, named as T, strategyContext, options);
      const prepared = preparing instanceof Promise ? await preparing : preparing;
      // Upstream's storage makes this check, which a dry run does not reach.
      if (!options.dryRun && isRevision(object.metadata.resourceVersion)) {
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
  prepare(
    context: RequestContext,
    object: T,
    strategyContext: StrategyContext,
    options: Pick<CreateOptions, 'validate' | 'large'>,
  ): Awaitable<Reservation<T>> {
    const strategy = this.#strategy;
    let prepared = inNamespace(object, context.namespace);
    const generation = Boolean(strategy.generation) && (strategy.initialGeneration ?? 1);
    prepared = fillForCreate(
      prepared,
      strategyContext.now,
      this.#objects.random,
      generation || undefined,
    );
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
        this.#objects.checkErrors(prepared, errors, others);
        this.#warnOnCreate(context, prepared, strategyContext);
        return options.validate?.(prepared, undefined);
      });
      return checked instanceof Promise ? checked.then(() => reservation, refused) : reservation;
    } catch (error) {
      return refused(error);
    }
  }

  async #insert(
    reservation: Reservation<T>,
    context: StrategyContext,
    { storedForm = asItIs, large = false }: Pick<CreateOptions, 'storedForm' | 'large'>,
  ): Promise<EncodedObject> {
    const object = storedForm(reservation.object);
    if (large) await nextTurn();
    const key = this.#objects.keyOf(object.metadata.namespace ?? '', object.metadata.name);
    let kv: KeyValue;
    try {
      if (context.dryRun) {
        if ((await this.#objects.storage.get(key)) !== undefined)
          throw new StorageError('KeyExists', 'the key exists', { key });
        await reservation.rollback();
        return new FreshObject(this.#objects.identified(object));
      }
      const encoding = this.#objects.encode(object);
      const value = encoding instanceof Promise ? await encoding : encoding;
      kv = await this.#objects.storage.create(key, value, {
        ttlMs: this.#strategy.ttlMs?.(object),
      });
    } catch (error) {
      if (!isOutcomeUnknown(error)) await reservation.rollback();
      throw error;
    }
    const committed = reservation.commit();
    if (committed instanceof Promise) await committed;
    return this.#objects.cache.written(kv);
  }

  async #createError(error: StorageError, object: T, generated: boolean): Promise<unknown> {
    const { name, namespace } = object.metadata;
    if (error.reason !== 'KeyExists')
      return storageToStatus(error, { resource: this.#objects.type, name });
    if (generated) return apierrors.generateNameConflict(this.#objects.type, name, 1);
    const status = apierrors.alreadyExists(this.#objects.type, name);
    const existing = await this.#objects.find(namespace ?? '', name);
    if (existing?.metadata.deletionTimestamp === undefined) return status;
    return apierrors.fromStatus({
      ...status.status,
      message: `object is being deleted: ${status.message}`,
    });
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
    this.#objects.checkErrors(object, errors, others instanceof Promise ? await others : others);
    await nextTurn();
    this.#warnOnCreate(context, object, strategyContext);
  }

  #metadataErrors(object: T): field.FieldErrorList {
    return field.bounded(() =>
      validateMetadata(object, this.#objects.type.namespaced, this.#strategy),
    );
  }

  #otherErrors(
    object: T,
    strategyContext: StrategyContext,
    prior: field.FieldErrorList,
  ): Awaitable<field.FieldErrorList> {
    const strategy = this.#strategy;
    if (strategy.validateInSteps !== undefined) {
      return runStepsInTurns(strategy.validateInSteps(object, strategyContext, prior));
    }
    return field.bounded(() => strategy.validate(object, strategyContext));
  }

  #warnOnCreate(context: RequestContext, object: T, strategyContext: StrategyContext): void {
    const strategy = this.#strategy;
    if (strategy.warningsOnCreate === undefined) return;
    context.warnings.push(...strategy.warningsOnCreate(object, strategyContext));
  }
}

const NOTHING = (): void => undefined;

/** Stores an object as it is served. */
export const asItIs: StoredForm = (object) => object;

function nothingReserved<T>(object: T): Reservation<T> {
  return { object, commit: NOTHING, rollback: NOTHING };
}

/** Reports whether a resourceVersion is one that an object can have. Upstream ignores any other. */
const isRevision = (resourceVersion = ''): boolean =>
  /^\d+$/.test(resourceVersion) &&
  BigInt(resourceVersion) > 0n &&
  BigInt(resourceVersion) < 2n ** 64n;
