// The typed client: `client.resource(pods).namespace('x').get('y')`. It is the same for every
// resource and transport.

import type { Immutable, KubeObject, ListOf, New } from '#api/machinery/meta/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { WatchStream } from '#machinery/watch.ts';
import type { PatchType, Transport, WatchEvent } from './transport.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
}
export interface GetOptions extends CallOptions {
  readonly resourceVersion?: string;
}
export interface ListOptions extends CallOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}
export interface WatchOptions extends CallOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly allowWatchBookmarks?: boolean;
  readonly timeoutSeconds?: number;
  readonly sendInitialEvents?: boolean;
  readonly resourceVersionMatch?: 'NotOlderThan';
}
export interface WriteOptions extends CallOptions {
  readonly dryRun?: 'All';
  readonly fieldManager?: string;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  /** Used by server-side apply only. */
  readonly force?: boolean;
}
export interface ApplyOptions extends CallOptions {
  /**
   * The manager that owns the applied fields. A field that it applied before and leaves out now is
   * removed.
   */
  readonly fieldManager: string;
  /**
   * Takes over fields that other managers own. Default: false; a conflict is a StatusError with the
   * reason Conflict.
   */
  readonly force?: boolean;
  readonly dryRun?: 'All';
  readonly subresource?: string;
}
export interface DeleteOptions extends CallOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: 'All';
}

/**
 * Calls on one resource, within one namespace or (for lists and watches of namespaced resources)
 * across all namespaces. All errors are StatusError.
 */
export interface ResourceClient<T extends KubeObject> {
  /**
   * Returns the same resource in a namespace; '' means all namespaces. A programming error for
   * cluster-scoped resources.
   */
  namespace(namespace: string): ResourceClient<T>;
  get(name: string, options?: GetOptions): Promise<Immutable<T>>;
  /**
   * Returns the objects. metadata.managedFields may be missing, also in watch(): the transport
   * between threads leaves it out.
   */
  list(options?: ListOptions): Promise<ListOf<Immutable<T>>>;
  watch(options?: WatchOptions): Promise<WatchStream<WatchEvent<Immutable<T>>>>;
  create(object: New<T>, options?: WriteOptions): Promise<Immutable<T>>;
  update(object: Immutable<T> | New<T>, options?: WriteOptions): Promise<Immutable<T>>;
  updateStatus(object: Immutable<T> | New<T>, options?: WriteOptions): Promise<Immutable<T>>;
  patch(
    name: string,
    type: PatchType,
    patch: unknown,
    options?: WriteOptions & { subresource?: string },
  ): Promise<Immutable<T>>;
  /**
   * Performs a server-side apply: creates the object, or sets the fields that it names.
   * `metadata.name` is required.
   */
  apply(object: New<T>, options: ApplyOptions): Promise<Immutable<T>>;
  /** Deletes an object. Returns its last state while it terminates, or a Status when it is gone. */
  delete(name: string, options?: DeleteOptions): Promise<unknown>;
  deleteCollection(options?: DeleteOptions & ListOptions): Promise<unknown>;
  /**
   * Calls a subresource: 'binding', 'scale', 'eviction', 'token' … The default of `method` is POST.
   */
  subresource<R>(
    name: string,
    subresource: string,
    body?: unknown,
    options?: WriteOptions & { method?: 'GET' | 'PUT' | 'POST' },
  ): Promise<R>;
}

export interface Client {
  resource<T extends KubeObject>(type: ResourceType<T>): ResourceClient<T>;
  readonly transport: Transport;
}
