// The strategy of a kind in a version that is not stored: it converts each object to the stored
// version, whose strategy decides, and converts the result back.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type {
  Reservation,
  ResourceStrategy,
  StrategyContext,
  SubresourceStrategy,
  UpdateStrategy,
} from './strategy.ts';

/** The conversions between a served version and the stored one. */
export interface VersionPair<Served extends KubeObject, Stored extends KubeObject> {
  toStored(object: Served): Stored;
  toServed(object: Stored): Served;
}

/** Returns the strategy for the served version. Strategies in steps or with a ttl are not supported. */
export function convertedStrategy<Served extends KubeObject, Stored extends KubeObject>(
  strategy: ResourceStrategy<Stored>,
  pair: VersionPair<Served, Stored>,
): ResourceStrategy<Served> {
  const { toStored, toServed } = pair;
  const {
    prepareForCreate,
    reserveForCreate,
    warningsOnCreate,
    validateName,
    validateDelete,
    gracePeriodSeconds,
    prepareForDelete,
    hasPendingFinalizers,
    afterDelete,
    generation,
    validateInSteps,
    ttlMs,
    ...rest
  } = strategy;
  if (validateInSteps !== undefined || ttlMs !== undefined)
    throw new Error('a strategy in steps, or with a ttl, cannot be converted');
  const { anyFinalizer, checksNameOnUpdate, allowCreateOnUpdate, allowUnconditionalUpdate } = rest;
  const { defaultGarbageCollection, returnDeletedObject, initialGeneration } = rest;
  return {
    ...defined({
      anyFinalizer,
      checksNameOnUpdate,
      allowCreateOnUpdate,
      allowUnconditionalUpdate,
      defaultGarbageCollection,
      returnDeletedObject,
      initialGeneration,
    }),
    ...convertedUpdate(strategy, pair),
    validate: (object, context) => strategy.validate(toStored(object), context),
    ...(prepareForCreate !== undefined && {
      prepareForCreate: (object: Served, context: StrategyContext) =>
        toServed(prepareForCreate(toStored(object), context)),
    }),
    ...(reserveForCreate !== undefined && {
      reserveForCreate: async (object: Served, context: StrategyContext) =>
        servedReservation(await reserveForCreate(toStored(object), context), toServed),
    }),
    ...(warningsOnCreate !== undefined && {
      warningsOnCreate: (object: Served, context: StrategyContext) =>
        warningsOnCreate(toStored(object), context),
    }),
    ...(validateName !== undefined && {
      validateName: (name: string, prefix: boolean, object: Served) =>
        validateName(name, prefix, toStored(object)),
    }),
    ...defined({ validateDelete }),
    ...(gracePeriodSeconds !== undefined && {
      gracePeriodSeconds: (object: Served, requested: number | undefined) =>
        gracePeriodSeconds(toStored(object), requested),
    }),
    ...(prepareForDelete !== undefined && {
      prepareForDelete: (object: Served, context: StrategyContext) =>
        toServed(prepareForDelete(toStored(object), context)),
    }),
    ...(hasPendingFinalizers !== undefined && {
      hasPendingFinalizers: (object: Served) => hasPendingFinalizers(toStored(object)),
    }),
    ...(afterDelete !== undefined && {
      afterDelete: (object: Served) => afterDelete(toStored(object)),
    }),
    ...(generation !== undefined && {
      generation:
        typeof generation === 'boolean'
          ? generation
          : (object: Served, old: Served) => generation(toStored(object), toStored(old)),
    }),
  };
}

/** Returns the strategy of a subresource for the served version. See convertedStrategy. */
export function convertedSubresource<Served extends KubeObject, Stored extends KubeObject>(
  strategy: SubresourceStrategy<Stored>,
  pair: VersionPair<Served, Stored>,
): SubresourceStrategy<Served> {
  const { generation } = strategy;
  const { toStored } = pair;
  return {
    ...convertedUpdate(strategy, pair),
    ...(generation !== undefined && {
      generation: (object: Served, old: Served) => generation(toStored(object), toStored(old)),
    }),
  };
}

function convertedUpdate<Served extends KubeObject, Stored extends KubeObject>(
  strategy: UpdateStrategy<Stored>,
  { toStored, toServed }: VersionPair<Served, Stored>,
): UpdateStrategy<Served> {
  const { prepareForUpdate, reserveForUpdate, warningsOnUpdate, resetFields } = strategy;
  if (strategy.validateUpdateInSteps !== undefined)
    throw new Error('a strategy in steps cannot be converted');
  return {
    ...defined({ resetFields }),
    validateUpdate: (object, old, context) =>
      strategy.validateUpdate(toStored(object), toStored(old), context),
    ...(prepareForUpdate !== undefined && {
      prepareForUpdate: (object: Served, old: Served, context: StrategyContext) =>
        toServed(prepareForUpdate(toStored(object), toStored(old), context)),
    }),
    ...(reserveForUpdate !== undefined && {
      reserveForUpdate: async (object: Served, old: Served, context: StrategyContext) =>
        servedReservation(
          await reserveForUpdate(toStored(object), toStored(old), context),
          toServed,
        ),
    }),
    ...(warningsOnUpdate !== undefined && {
      warningsOnUpdate: (object: Served, old: Served, context: StrategyContext) =>
        warningsOnUpdate(toStored(object), toStored(old), context),
    }),
  };
}

function servedReservation<Served, Stored>(
  reservation: Reservation<Stored>,
  toServed: (object: Stored) => Served,
): Reservation<Served> {
  return {
    object: toServed(reservation.object),
    commit: () => reservation.commit(),
    rollback: () => reservation.rollback(),
  };
}

/** Returns the object without undefined values. */
function defined<T extends object>(object: T): { [key in keyof T]?: Exclude<T[key], undefined> } {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined),
  ) as never;
}
