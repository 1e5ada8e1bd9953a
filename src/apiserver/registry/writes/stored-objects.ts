// The objects of one resource in the storage: their keys, their bytes, and the context in which
// strategies see them. All that is written about a resource goes through here.

import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import { MAX_BODY_VALUES } from '#api/machinery/codec/limits.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import type { Random } from '#machinery/random.ts';
import { countUpTo, nextTurn } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import { type KeyValue, type Storage, StorageError } from '#storage/interface.ts';
import type { EncodedObject } from '../../request.ts';
import { FreshObject, type ObjectFormat, type ServedObject } from '../encoded-object.ts';
import type { ObjectCache } from '../object-cache.ts';
import { ObjectTooLarge, storageToStatus } from '../storage-errors.ts';
import type { RequestContext, ResourceStrategy, StrategyContext } from '../strategy.ts';

/** The maximum size of an object, the same as that of a body. */
const MAX_OBJECT_BYTES = 3 * 1024 * 1024;
const MAX_OBJECT_VALUES = MAX_BODY_VALUES;
/** Shorter objects cannot have too many values. */
const MANY_VALUES_BYTES = 2 * MAX_OBJECT_VALUES;

export interface StoredObjectsConfig<T extends KubeObject> {
  /** The served type. Errors name it, except those of validation. */
  readonly type: ResourceType;
  /** The type of the stored objects, which validation errors name. */
  readonly storedType: ResourceType;
  readonly strategy: ResourceStrategy<T>;
  /** The prefix of the resource's keys, which ends in '/'. */
  readonly prefix: string;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly cache: ObjectCache;
  readonly format: ObjectFormat;
}

export class StoredObjects<T extends KubeObject> {
  readonly type: ResourceType;
  readonly storedType: ResourceType;
  readonly strategy: ResourceStrategy<T>;
  readonly prefix: string;
  readonly storage: Storage;
  readonly cache: ObjectCache;
  readonly random: Random;
  readonly #clock: Clock;
  readonly #format: ObjectFormat;

  constructor(config: StoredObjectsConfig<T>) {
    this.type = config.type;
    this.storedType = config.storedType;
    this.strategy = config.strategy;
    this.prefix = config.prefix;
    this.storage = config.storage;
    this.cache = config.cache;
    this.random = config.random;
    this.#clock = config.clock;
    this.#format = config.format;
  }

  /** Returns the stored state; undefined if there is none. Throws StatusError. */
  read(namespace: string, name: string): Awaitable<KeyValue | undefined> {
    const key = this.keyOf(namespace, name);
    const failed = (error: unknown): never => {
      throw storageToStatus(error, { resource: this.type, name });
    };
    const { now } = this.storage;
    if (now === undefined) return this.storage.get(key).catch(failed);
    try {
      return now.get(key);
    } catch (error) {
      return failed(error);
    }
  }

  /** Returns the decoded object; undefined if it does not exist. Throws StatusError. */
  find(namespace: string, name: string): Awaitable<T | undefined> {
    return andThen(this.read(namespace, name), (kv) =>
      kv === undefined ? undefined : andThen(this.cache.read(kv), objectOf<T>),
    );
  }

  /**
   * Returns the bytes to store; for a large object in a later turn of the event loop. Throws
   * StatusError (413) if the object exceeds the maximum size: repeated patches could make it larger
   * and larger, and each request for it slower.
   */
  encode(object: T): Awaitable<Uint8Array> {
    return andThen(this.cache.encode(object), (value) => {
      if (value.length <= MANY_VALUES_BYTES) return value;
      return nextTurn().then(() => {
        if (
          value.length <= MAX_OBJECT_BYTES &&
          countUpTo(object, MAX_OBJECT_VALUES + 1) <= MAX_OBJECT_VALUES
        )
          return value;
        throw new ObjectTooLarge(
          `limits of an object are ${MAX_OBJECT_BYTES} bytes and ${MAX_OBJECT_VALUES} values`,
        );
      });
    });
  }

  /**
   * Reports whether the write would change nothing, so that no revision and no watch event is
   * needed.
   */
  isSameState(value: Uint8Array, { value: current }: KeyValue, object: T, old: T): boolean {
    if (value.length !== current.length) return false;
    if (Buffer.compare(value, current) === 0) return true;
    // Objects that differ only in data that the conversion drops are equal after conversion, so the
    // stored objects are compared.
    if (!this.cache.storesServedVersion)
      return deepEqual(decodeFromStorage(value, 0), decodeFromStorage(current, 0));
    return deepEqual(withoutRevision(object), withoutRevision(old));
  }

  keyOf(namespace: string, name: string): string {
    return this.type.namespaced ? `${this.prefix}${namespace}/${name}` : this.prefix + name;
  }

  prefixOf(namespace: string): string {
    return this.type.namespaced && namespace !== '' ? `${this.prefix}${namespace}/` : this.prefix;
  }

  strategyContext(request: RequestContext, dryRun: boolean): StrategyContext {
    return { request, now: this.#clock.now(), dryRun };
  }

  /** Returns the object with kind and apiVersion, which clients may omit. */
  identified(object: T): T {
    return { ...object, kind: this.#format.kind, apiVersion: this.#format.apiVersion };
  }

  /** Returns an object as the client gets it that has deleted it in this revision. */
  lastState(object: T, revision: number): EncodedObject {
    return new FreshObject(
      this.identified({
        ...object,
        metadata: { ...object.metadata, resourceVersion: String(revision) },
      }),
    );
  }

  /** Throws StatusError (422) if there are errors. */
  checkErrors(object: T, ofMetadata: field.FieldErrorList, others: field.FieldErrorList): void {
    if (ofMetadata.length === 0 && others.length === 0) return;
    throw apierrors.invalid(
      this.storedType,
      object.metadata.name || (object.metadata.generateName ?? ''),
      [...ofMetadata, ...others].slice(0, field.MAX_FIELD_ERRORS),
    );
  }

  /** Does what follows the deletion of an object. */
  async deleted(key: string, object: T): Promise<void> {
    this.cache.forget(key);
    await this.strategy.afterDelete?.(object);
  }
}

export function objectOf<T>(served: ServedObject): T {
  return served.object() as unknown as T;
}

function withoutRevision(object: KubeObject): object {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata, kind: '', apiVersion: '' };
}

/** Reports whether the write may have been made, or may still be made. */
export function isOutcomeUnknown(error: unknown): boolean {
  return (
    error instanceof StorageError && (error.reason === 'Unavailable' || error.reason === 'Closed')
  );
}
