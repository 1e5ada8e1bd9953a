// Reads lists of objects into a set, in pages and with a limit. What may not be read is recorded as such.

import type { Event } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject, ListOf } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Client } from '../client.ts';
import { resourcePath } from '../request.ts';
import type { ObjectRef } from './cause.ts';
import type { ServedResource } from './kinds.ts';
import type { ObjectSet } from './object-set.ts';

const PAGE = 500;
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

export interface ListRequest {
  /** '' for all namespaces, and for cluster-scoped resources. */
  readonly namespace: string;
  /** The maximum number of objects that are read. */
  readonly max: number;
  readonly fieldSelector?: string;
}

export class ObjectReader {
  readonly #client: Client;
  readonly #signal: AbortSignal | undefined;
  readonly objects: ObjectSet;

  constructor(client: Client, objects: ObjectSet, signal?: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    this.objects = objects;
  }

  /** Adds the objects of a list. Rejects only if the server cannot be reached or the credentials are not accepted. */
  async list(type: ServedResource, request: ListRequest): Promise<void> {
    const { namespace, max, fieldSelector } = request;
    let read = 0;
    let token = '';
    do {
      let page: ListOf<KubeObject>;
      try {
        page = await this.#client.transport.request<ListOf<KubeObject>>({
          method: 'GET',
          path: resourcePath(type, namespace),
          query: {
            limit: Math.min(PAGE, max - read),
            ...(token !== '' && { continue: token }),
            ...(fieldSelector !== undefined && { fieldSelector }),
          },
          ...(this.#signal && { signal: this.#signal }),
        });
      } catch (error) {
        this.#unreadable(type, error);
        return;
      }
      for (const item of page.items) this.#add(type, item);
      read += page.items.length;
      token = page.metadata.continue ?? '';
    } while (token !== '' && read < max);
    if (token === '' && fieldSelector === undefined) this.objects.addComplete(type, namespace);
    if (token !== '')
      this.objects.addUnreadable(type, `only the first ${max} of them have been read`);
  }

  /**
   * Adds one object, or that it does not exist. `metadataOnly`: its data stays on the server, as that of Secrets
   * should.
   */
  async get(
    type: ServedResource,
    ref: Pick<ObjectRef, 'namespace' | 'name'>,
    metadataOnly = false,
  ): Promise<KubeObject | undefined> {
    const { namespace = '', name } = ref;
    try {
      const object = await this.#client.transport.request<KubeObject>({
        method: 'GET',
        path: resourcePath(type, type.namespaced ? namespace : '', name),
        ...(metadataOnly && { accept: METADATA_ONLY }),
        ...(this.#signal && { signal: this.#signal }),
      });
      return this.#add(type, object);
    } catch (error) {
      const { group, kind } = type;
      if (apierrors.isNotFound(error))
        this.objects.addAbsent({ group, kind, ...(type.namespaced && { namespace }), name });
      else this.#unreadable(type, error);
      return undefined;
    }
  }

  /** Adds an item with its apiVersion and kind, which lists leave out. */
  #add(type: ServedResource, item: KubeObject): KubeObject {
    const { group, version, kind } = type;
    if (group === '' && kind === 'Event') {
      this.objects.addEvent(item as Immutable<Event>);
      return item;
    }
    const apiVersion = group === '' ? version : `${group}/${version}`;
    const object = { ...item, apiVersion, kind };
    this.objects.add(object);
    return object;
  }

  #unreadable(type: ServedResource, error: unknown): void {
    if (this.#signal?.aborted) throw error;
    // Without these there is no explanation at all.
    if (apierrors.isUnauthorized(error) || isUnreachable(error)) throw error;
    this.objects.addUnreadable(type, (error as Error).message);
  }
}

/** Reports whether the server could not be reached: the error is no Status. */
const isUnreachable = (error: unknown): boolean =>
  apierrors.isServiceUnavailable(error) && (error as Error).cause !== undefined;
