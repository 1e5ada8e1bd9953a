// The store of a custom kind, created at the first request for its objects: most kinds of a server
// are idle, and a store is larger than everything else in memory for them.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { WatchStream } from '#machinery/watch.ts';
import type { EncodedObject, EncodedWatchEvent } from '#apiserver/request.ts';
import { ResourceStore, type ResourceStoreConfig } from '#apiserver/registry/resource-store.ts';
import type { UpdateAnswer } from '#apiserver/registry/writes/update.ts';
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
} from '#apiserver/registry/rest.ts';
import type { RequestContext, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

export class LazyStore implements Rest {
  readonly resetFields: readonly (readonly string[])[];
  readonly #config: () => ResourceStoreConfig<KubeObject>;
  #store: ResourceStore | undefined;
  #closed = false;

  /**
   * Creates a lazy store. `config`: called when the store is created. `resetFields`: those of its
   * strategy.
   */
  constructor(
    config: () => ResourceStoreConfig<KubeObject>,
    resetFields: readonly (readonly string[])[],
  ) {
    this.#config = config;
    this.resetFields = resetFields;
  }

  /** The store, created on demand. */
  get store(): ResourceStore {
    if (this.#store === undefined) {
      this.#store = new ResourceStore(this.#config());
      if (this.#closed) this.#store.close();
    }
    return this.#store;
  }

  /** Returns a lazy view of the store; see ResourceStore.view. */
  view(strategy: SubresourceStrategy<KubeObject>): Pick<Rest, 'get' | 'update' | 'resetFields'> {
    let view: ReturnType<ResourceStore['view']> | undefined;
    return {
      ...(strategy.resetFields !== undefined && { resetFields: strategy.resetFields }),
      get: (context, name, options) => this.get(context, name, options),
      update: (context, name, update, options) =>
        (view ??= this.store.view(strategy)).update(context, name, update, options),
    };
  }

  get(context: RequestContext, name: string, options: GetOptions): Promise<EncodedObject> {
    return this.store.get(context, name, options);
  }

  find(namespace: string, name: string): Awaitable<KubeObject | undefined> {
    return this.store.find(namespace, name);
  }

  list(context: RequestContext, options: ListOptions): Promise<ListAnswer> {
    return this.store.list(context, options);
  }

  findAll(namespace: string): Awaitable<readonly KubeObject[]> {
    return this.store.findAll(namespace);
  }

  watch(context: RequestContext, options: WatchOptions): Promise<WatchStream<EncodedWatchEvent>> {
    return this.store.watch(context, options);
  }

  create(
    context: RequestContext,
    parent: string,
    object: KubeObject,
    options: CreateOptions,
  ): Promise<EncodedObject> {
    return this.store.create(context, parent, object, options);
  }

  update(
    context: RequestContext,
    name: string,
    update: ObjectUpdate,
    options: UpdateOptions,
  ): Promise<UpdateAnswer> {
    return this.store.update(context, name, update, options);
  }

  delete(context: RequestContext, name: string, options: DeleteOptions): Promise<DeleteAnswer> {
    return this.store.delete(context, name, options);
  }

  deleteCollection(
    context: RequestContext,
    options: DeleteOptions,
    list: ListOptions,
  ): Promise<ListAnswer> {
    return this.store.deleteCollection(context, options, list);
  }

  close(): void {
    this.#closed = true;
    this.#store?.close();
  }
}
