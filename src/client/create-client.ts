// The typed client on any transport.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject, ListOf, New } from '#api/machinery/meta/v1/index.ts';
import type { WatchStream } from '#machinery/watch.ts';
import type {
  ApplyOptions,
  Client,
  DeleteOptions,
  GetOptions,
  ListOptions,
  ResourceClient,
  WatchOptions,
  WriteOptions,
} from './client.ts';
import { resourcePath } from './request.ts';
import type { PatchType, Query, Transport, WatchEvent } from './transport.ts';

export function createClient(transport: Transport): Client {
  return {
    transport,
    resource: <T extends KubeObject>(type: ResourceType<T>): ResourceClient<T> =>
      new TypedClient<T>(transport, type, ''),
  };
}

class TypedClient<T extends KubeObject> implements ResourceClient<T> {
  readonly #transport: Transport;
  readonly #type: ResourceType<T>;
  /** '' for all namespaces, and for cluster-scoped resources. */
  readonly #namespace: string;

  constructor(transport: Transport, type: ResourceType<T>, namespace: string) {
    this.#transport = transport;
    this.#type = type;
    this.#namespace = namespace;
  }

  namespace(namespace: string): ResourceClient<T> {
    if (!this.#type.namespaced) throw new Error(`${this.#type.resource} are not namespaced`);
    return new TypedClient(this.#transport, this.#type, namespace);
  }

  async get(name: string, { signal, ...query }: GetOptions = {}): Promise<Immutable<T>> {
    return this.#transport.request({ method: 'GET', path: this.#objectPath(name), query, signal });
  }

  async list({ signal, ...query }: ListOptions = {}): Promise<ListOf<Immutable<T>>> {
    return this.#transport.request({ method: 'GET', path: this.#collectionPath(), query, signal });
  }

  async watch({ signal, ...query }: WatchOptions = {}): Promise<
    WatchStream<WatchEvent<Immutable<T>>>
  > {
    return this.#transport.watch({ method: 'GET', path: this.#collectionPath(), query, signal });
  }

  async create(object: New<T>, options: WriteOptions = {}): Promise<Immutable<T>> {
    const path = resourcePath(this.#type, this.#namespaceOf(object as KubeObject));
    return this.#transport.request({
      method: 'POST',
      path,
      ...writeQuery(options),
      body: this.#typed(object),
    });
  }

  async update(object: Immutable<T> | New<T>, options: WriteOptions = {}): Promise<Immutable<T>> {
    return this.#put(object as KubeObject, '', options);
  }

  async updateStatus(
    object: Immutable<T> | New<T>,
    options: WriteOptions = {},
  ): Promise<Immutable<T>> {
    return this.#put(object as KubeObject, 'status', options);
  }

  async patch(
    name: string,
    type: PatchType,
    patch: unknown,
    { subresource, ...options }: WriteOptions & { subresource?: string } = {},
  ): Promise<Immutable<T>> {
    return this.#transport.request({
      method: 'PATCH',
      path: this.#objectPath(name, subresource),
      ...writeQuery(options),
      body: patch,
      contentType: type,
    });
  }

  async apply(
    object: New<T>,
    { subresource, signal, ...query }: ApplyOptions,
  ): Promise<Immutable<T>> {
    const { metadata } = object as Partial<KubeObject>;
    const name = nonEmpty(metadata?.name ?? '');
    return this.#transport.request({
      method: 'PATCH',
      path: resourcePath(this.#type, this.#namespaceOf(object as KubeObject), name, subresource),
      query,
      signal,
      body: this.#typed(object),
      contentType: 'application/apply-patch+yaml',
    });
  }

  async delete(name: string, options: DeleteOptions = {}): Promise<unknown> {
    return this.#transport.request({
      method: 'DELETE',
      path: this.#objectPath(name),
      body: deleteBody(options),
      signal: options.signal,
    });
  }

  async deleteCollection(options: DeleteOptions & ListOptions = {}): Promise<unknown> {
    const { signal, gracePeriodSeconds, propagationPolicy, preconditions, dryRun, ...query } =
      options;
    return this.#transport.request({
      method: 'DELETE',
      path: this.#collectionPath(),
      query,
      body: deleteBody({ gracePeriodSeconds, propagationPolicy, preconditions, dryRun }),
      signal,
    });
  }

  async subresource<R>(
    name: string,
    subresource: string,
    body?: unknown,
    { method = 'POST', ...options }: WriteOptions & { method?: 'GET' | 'PUT' | 'POST' } = {},
  ): Promise<R> {
    return this.#transport.request({
      method,
      path: this.#objectPath(name, subresource),
      ...writeQuery(options),
      body,
    });
  }

  #put(object: KubeObject, subresource: string, options: WriteOptions): Promise<Immutable<T>> {
    const name = object.metadata.name ?? '';
    const path = resourcePath(this.#type, this.#namespaceOf(object), nonEmpty(name), subresource);
    return this.#transport.request({
      method: 'PUT',
      path,
      ...writeQuery(options),
      body: this.#typed(object),
    });
  }

  #collectionPath(): string {
    return resourcePath(this.#type, this.#namespace);
  }

  #objectPath(name: string, subresource?: string): string {
    this.#requireNamespace(this.#namespace);
    return resourcePath(this.#type, this.#namespace, nonEmpty(name), subresource);
  }

  /** Returns the namespace of the client, or else the namespace of the object. */
  #namespaceOf(object: KubeObject): string {
    const namespace = this.#namespace || (object.metadata?.namespace ?? '');
    this.#requireNamespace(namespace);
    return this.#type.namespaced ? namespace : '';
  }

  #requireNamespace(namespace: string): void {
    if (this.#type.namespaced && namespace === '') {
      throw new Error(`a request for one of the ${this.#type.resource} requires a namespace`);
    }
  }

  /** Returns the object with its type: items of a list lack it, but requests need it. */
  #typed(object: unknown): unknown {
    const { apiVersion, kind } = object as KubeObject;
    if (apiVersion && kind) return object;
    const { group, version } = this.#type;
    return {
      ...(object as object),
      apiVersion: group === '' ? version : `${group}/${version}`,
      kind: this.#type.kind,
    };
  }
}

function nonEmpty(name: string): string {
  if (name === '')
    throw new Error('a name is required: this request does not act on the collection');
  return name;
}

function writeQuery({ signal, ...query }: WriteOptions): {
  readonly query: Query;
  readonly signal: AbortSignal | undefined;
} {
  return { query, signal };
}

function deleteBody(options: DeleteOptions): unknown {
  const { gracePeriodSeconds, propagationPolicy, preconditions, dryRun } = options;
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(propagationPolicy !== undefined && { propagationPolicy }),
    ...(preconditions !== undefined && { preconditions }),
    ...(dryRun !== undefined && { dryRun: [dryRun] }),
  };
}
