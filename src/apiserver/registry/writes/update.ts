// Updates objects; docs/update-path.md has a picture.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { isLarge, nextTurn, runStepsInTurns } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import type { KeyValue, UpdateDecision } from '#storage/interface.ts';
import type { EncodedObject } from '../../request.ts';
import { finishesDeletion } from '../deletion.ts';
import { FreshObject } from '../encoded-object.ts';
import { desiredStateChanged, inNamespace, keepForUpdate } from '../metadata.ts';
import { validateMetadataUpdate } from '../metadata-validation.ts';
import { checkPreconditions, checkVersion } from '../preconditions.ts';
import type { ObjectUpdate, UpdateOptions } from '../rest.ts';
import { storageToStatus } from '../storage-errors.ts';
import type {
  RequestContext,
  Reservation,
  ResourceStrategy,
  StrategyContext,
  SubresourceStrategy,
} from '../strategy.ts';
import { asItIs, type ObjectCreator } from './create.ts';
import { isOutcomeUnknown, type StoredObjects } from './stored-objects.ts';

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

export class ObjectUpdater<T extends KubeObject> {
  readonly #objects: StoredObjects<T>;
  readonly #creator: ObjectCreator<T>;
  readonly #strategy: ResourceStrategy<T>;

  /** `creator`: creates objects whose names an update finds free. */
  constructor(objects: StoredObjects<T>, creator: ObjectCreator<T>) {
    this.#objects = objects;
    this.#creator = creator;
    this.#strategy = objects.strategy;
  }

  /**
   * Updates an object; see docs/update-path.md. The storage calls `#decideUpdate`, which calls
   * `update.apply`, again after each conflict.
   */
  async update(
    context: RequestContext,
    name: string,
    update: ObjectUpdate,
    options: UpdateOptions,
    strategy: ResourceStrategy<T> | SubresourceStrategy<T>,
    generation: ResourceStrategy<T>['generation'],
  ): Promise<UpdateAnswer> {
    const key = this.#objects.keyOf(context.namespace, name);
    const strategyContext = this.#objects.strategyContext(context, options.dryRun);
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
      const result = await this.#objects.storage.guaranteedUpdate(key, decide);
      if (attempt.reservation !== undefined) await attempt.reservation.commit();
      context.warnings.push(...attempt.warnings);
      const { object } = attempt;
      if (result.kv !== undefined) {
        const isWritten = object !== undefined && result.kv !== result.previous;
        const served = isWritten
          ? this.#objects.cache.written(result.kv)
          : this.#objects.cache.read(result.kv);
        return {
          object: served instanceof Promise ? await served : served,
          created: result.previous === undefined,
        };
      }
      await this.#objects.deleted(key, object!);
      return { object: this.#objects.lastState(object!, result.revision), created: false };
    } catch (error) {
      // A plugin may reject what the strategy has warned of.
      context.warnings.push(...attempt.warnings);
      if (!isOutcomeUnknown(error)) await attempt.reservation?.rollback();
      throw storageToStatus(error, { resource: this.#objects.type, name });
    }
  }

  /** Decides an update of a name that does not exist: it creates the object, or fails. */
  async #decideCreation(call: UpdateCall<T>, attempt: UpdateAttempt<T>): Promise<UpdateDecision> {
    const { context, name, update, options, strategy, strategyContext } = call;
    if (!(options.forceAllowCreate ?? strategy.allowCreateOnUpdate ?? false))
      throw apierrors.notFound(this.#objects.type, name);
    checkPreconditions(this.#objects.type, name, update.preconditions, undefined);
    const object = (await update.apply(undefined)) as T;
    const large = isLarge(object);
    if ((object.metadata.resourceVersion ?? '') !== '' && object.metadata.resourceVersion !== '0') {
      throw apierrors.notFound(this.#objects.type, name);
    }
    attempt.reservation = await this.#creator.prepare(context, object, strategyContext, {
      validate: options.validateCreate,
      large,
    });
    attempt.object = (options.storedForm ?? asItIs)(attempt.reservation.object);
    return {
      action: 'put',
      value: await this.#objects.encode(attempt.object),
      ttlMs: this.#strategy.ttlMs?.(attempt.object),
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
    const reading = this.#objects.cache.read(current);
    const old = (reading instanceof Promise ? await reading : reading).object() as T;
    checkPreconditions(this.#objects.type, name, update.preconditions, old);
    const applied = update.apply(old);
    const changed = (applied instanceof Promise ? await applied : applied) as T;
    // Large objects are never returned synchronously.
    const large = applied instanceof Promise && isLarge(changed);
    if (large) await nextTurn();
    // An object in an older version is written even if it is unchanged. So it is migrated.
    const isStoredVersion = this.#objects.cache.isStoredVersion(current);
    if (changed === old && isStoredVersion) return { action: 'keep' };
    const allowUnconditional =
      strategy.allowUnconditionalUpdate ?? this.#strategy.allowUnconditionalUpdate ?? true;
    checkVersion(this.#objects.type, changed, old, allowUnconditional);
    let object = keepForUpdate(inNamespace(changed, context.namespace), old);
    if (strategy.prepareForUpdate !== undefined)
      object = strategy.prepareForUpdate(object, old, strategyContext);
    if (strategy.reserveForUpdate !== undefined) {
      attempt.reservation = await strategy.reserveForUpdate(object, old, strategyContext);
      object = attempt.reservation.object;
    }
    object = this.#countGeneration(object, old, generation);
    const names =
      strategy === this.#strategy
        ? this.#strategy
        : { anyFinalizer: this.#strategy.anyFinalizer === true };
    const candidate = object;
    const errors = field.bounded(() => validateMetadataUpdate(candidate, old, names));
    if (large) await nextTurn();
    const steps = strategy.validateUpdateInSteps?.(candidate, old, strategyContext, errors);
    const others =
      steps === undefined
        ? field.bounded(() => strategy.validateUpdate(candidate, old, strategyContext))
        : await runStepsInTurns(steps);
    this.#objects.checkErrors(object, errors, others);
    attempt.warnings = strategy.warningsOnUpdate?.(object, old, strategyContext) ?? [];
    const validated = options.validate?.(object, old);
    if (validated instanceof Promise) await validated;
    object = (options.storedForm ?? asItIs)(object);
    attempt.object = object;
    if (finishesDeletion(object, old, this.#strategy)) return { action: 'delete' };
    const encoding = this.#objects.encode(object);
    const value = encoding instanceof Promise ? await encoding : encoding;
    if (isStoredVersion && this.#objects.isSameState(value, current, object, old))
      return { action: 'keep' };
    return { action: 'put', value, ttlMs: this.#strategy.ttlMs?.(object) };
  }

  async #dryRunUpdate(
    key: string,
    decide: (current: KeyValue | undefined) => Promise<UpdateDecision>,
    attempt: UpdateAttempt<T>,
  ): Promise<UpdateAnswer> {
    const current = await this.#objects.storage.get(key);
    const decision = await decide(current);
    if (decision.action === 'keep' && current !== undefined)
      return { object: await this.#objects.cache.read(current), created: false };
    return {
      object: new FreshObject(this.#objects.identified(attempt.object!)),
      created: current === undefined,
    };
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
}
