// Deletes objects, one or those of a list.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { KeyValue, UpdateDecision } from '#storage/interface.ts';
import type { EncodedObject } from '../../request.ts';
import { decideDeletion } from '../deletion.ts';
import { FreshObject } from '../encoded-object.ts';
import { checkDeletePreconditions, checkPreconditions } from '../preconditions.ts';
import type { DeleteAnswer, DeleteOptions, ListAnswer } from '../rest.ts';
import { storageToStatus } from '../storage-errors.ts';
import type { RequestContext, ResourceStrategy } from '../strategy.ts';
import type { StoredObjects } from './stored-objects.ts';

/** The number of concurrent deletions of one deletecollection. */
const COLLECTION_WORKERS = 16;

export class ObjectDeleter<T extends KubeObject> {
  readonly #objects: StoredObjects<T>;
  readonly #strategy: ResourceStrategy<T>;

  constructor(objects: StoredObjects<T>) {
    this.#objects = objects;
    this.#strategy = objects.strategy;
  }

  /** Deletes an object. Throws StatusError. */
  async delete(
    context: RequestContext,
    name: string,
    options: DeleteOptions,
  ): Promise<DeleteAnswer> {
    this.#strategy.validateDelete?.(name);
    context.warnings.push(...(this.#strategy.warningsOnDelete?.(options) ?? []));
    return this.#delete(context, name, options);
  }

  async #delete(
    context: RequestContext,
    name: string,
    options: DeleteOptions,
  ): Promise<DeleteAnswer> {
    const key = this.#objects.keyOf(context.namespace, name);
    const strategyContext = this.#objects.strategyContext(context, options.dryRun);
    // Results of the last attempt; `decide` runs again after a conflict.
    let old: T | undefined;
    let marked: T | undefined;
    /** The deleted object for the response. */
    let shown: T | undefined;
    const decide = async (current: KeyValue | undefined): Promise<UpdateDecision> => {
      marked = undefined;
      if (current === undefined) throw apierrors.notFound(this.#objects.type, name);
      old = (await this.#objects.cache.read(current)).object() as T;
      // As upstream, kinds whose deletion has steps of its own have the messages of updates.
      if (this.#strategy.hasPendingFinalizers !== undefined)
        checkPreconditions(this.#objects.type, name, options.preconditions, old);
      else checkDeletePreconditions(this.#objects.storedType, name, options.preconditions, old);
      await options.validate?.(old, old);
      const decision = decideDeletion(old, options, this.#strategy, strategyContext);
      if (decision.action === 'delete') shown = decision.last ?? old;
      if (decision.action !== 'mark') return { action: decision.action };
      marked = decision.object;
      const value = await this.#objects.cache.encode(marked);
      const isSame =
        this.#objects.cache.isStoredVersion(current) &&
        this.#objects.isSameState(value, current, marked, old);
      return isSame ? { action: 'keep' } : { action: 'put', value };
    };
    try {
      if (options.dryRun) {
        const decision = await decide(await this.#objects.storage.get(key));
        if (decision.action === 'delete')
          return { object: this.#deletionResult(shown!), deleted: true };
        return { object: new FreshObject(marked ?? old), deleted: false };
      }
      const result = await this.#objects.storage.guaranteedUpdate(key, decide);
      if (result.kv !== undefined) {
        const changed = marked !== undefined && result.kv !== result.previous;
        return {
          object: await (changed
            ? this.#objects.cache.written(result.kv)
            : this.#objects.cache.read(result.kv)),
          deleted: false,
        };
      }
      const last = old!;
      await this.#objects.deleted(key, last);
      return { object: this.#deletionResult(shown ?? last, result.revision), deleted: true };
    } catch (error) {
      throw storageToStatus(error, { resource: this.#objects.type, name });
    }
  }

  /**
   * Deletes the objects of a list one by one. A missing object is not an error; any other error
   * ends the deletion.
   */
  async deleteAll(
    context: RequestContext,
    options: DeleteOptions,
    list: () => Promise<ListAnswer>,
  ): Promise<ListAnswer> {
    context.warnings.push(...(this.#strategy.warningsOnDelete?.(options) ?? []));
    const selected = await list();
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

  #deletionResult(object: T, revision?: number): EncodedObject {
    if (this.#strategy.returnDeletedObject === true) {
      return revision === undefined
        ? new FreshObject(object)
        : this.#objects.lastState(object, revision);
    }
    const { name, uid } = object.metadata;
    const { group, resource } = this.#objects.type;
    return new FreshObject({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name, ...(group !== '' && { group }), kind: resource, uid },
    });
  }
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
