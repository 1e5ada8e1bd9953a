// Adds and removes finalizers of snapshots and their contents.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject, ObjectMeta } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { finalizersPatch, MERGE_PATCH } from '../patches.ts';

interface Named {
  readonly metadata: Immutable<ObjectMeta>;
}

export class Finalizers {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Adds the finalizer, unless the object has it. */
  async add<T extends KubeObject>(
    type: ResourceType<T>,
    object: Named,
    finalizer: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { finalizers = [] } = object.metadata;
    if (finalizers.includes(finalizer)) return;
    await this.#set(type, object, [...finalizers, finalizer], signal);
  }

  /** Removes the finalizer, if the object has it. */
  async remove<T extends KubeObject>(
    type: ResourceType<T>,
    object: Named,
    finalizer: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { finalizers = [] } = object.metadata;
    if (!finalizers.includes(finalizer)) return;
    const left = finalizers.filter((each) => each !== finalizer);
    await this.#set(type, object, left, signal);
  }

  async #set<T extends KubeObject>(
    type: ResourceType<T>,
    object: Named,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { name, namespace = '' } = object.metadata;
    const resource = this.#client.resource(type);
    const patch = finalizersPatch(object, finalizers);
    await (type.namespaced ? resource.namespace(namespace) : resource).patch(
      name,
      MERGE_PATCH,
      patch,
      { signal },
    );
  }
}
