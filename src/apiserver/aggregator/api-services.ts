// The APIServices of the cluster, in memory: which group versions other API servers serve, and by
// which service.

import type * as apiregistration from '#api/groups/apiregistration/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Keeper } from '../catalog/follow.ts';

export type APIService = Immutable<apiregistration.APIService>;
export type ServiceReference = Immutable<apiregistration.ServiceReference>;

/** An APIService whose requests go to another API server. */
export type RemoteApiService = APIService & {
  readonly spec: { readonly service: ServiceReference };
};

/** The name of the APIService for /api, the only one with an empty group. */
export const LEGACY_NAME = 'v1.';

/**
 * Called after the table has changed. Undefined stands for an object that does not exist. Must not
 * throw.
 */
export type ApiServiceListener = (
  name: string,
  now: APIService | undefined,
  before: APIService | undefined,
) => void;

export class ApiServices implements Keeper {
  readonly #byName = new Map<string, APIService>();
  readonly #remote = new Map<string, RemoteApiService>();
  /** The array is replaced, not modified, so that a listener may unsubscribe while it is called. */
  #listeners: readonly ApiServiceListener[] = [];

  set(object: KubeObject): void {
    const service = object as APIService;
    const { name } = service.metadata;
    const before = this.#byName.get(name);
    this.#byName.set(name, service);
    if (isRemote(service)) this.#remote.set(name, service);
    else this.#remote.delete(name);
    this.#changed(name, service, before);
  }

  delete(key: string): void {
    const before = this.#byName.get(key);
    this.#byName.delete(key);
    this.#remote.delete(key);
    this.#changed(key, undefined, before);
  }

  get(name: string): APIService | undefined {
    return this.#byName.get(name);
  }

  remote(name: string): RemoteApiService | undefined {
    return this.#remote.get(name);
  }

  all(): Iterable<APIService> {
    return this.#byName.values();
  }

  allRemote(): Iterable<RemoteApiService> {
    return this.#remote.values();
  }

  /** True if any group version is served by another server. */
  get hasRemote(): boolean {
    return this.#remote.size > 0;
  }

  /** Subscribes to changes. Returns a function that ends the subscription. */
  onChange(listener: ApiServiceListener): () => void {
    const subscribed: ApiServiceListener = (...change) => listener(...change);
    this.#listeners = [...this.#listeners, subscribed];
    return () => {
      this.#listeners = this.#listeners.filter((each) => each !== subscribed);
    };
  }

  #changed(name: string, now: APIService | undefined, before: APIService | undefined): void {
    for (const listener of this.#listeners) listener(name, now, before);
  }
}

export function isRemote(service: APIService): service is RemoteApiService {
  return service.spec.service !== undefined;
}

/** Reports whether the condition Available is true. */
export function isAvailable({ status }: APIService): boolean {
  return (status?.conditions ?? []).some(
    (condition) => condition.type === 'Available' && condition.status === 'True',
  );
}

/** Returns the group and version in the name of an APIService, such as 'v1beta1.metrics.k8s.io'. */
export function groupVersionOf(name: string): { readonly group: string; readonly version: string } {
  const dot = name.indexOf('.');
  return dot < 0
    ? { version: name, group: '' }
    : { version: name.slice(0, dot), group: name.slice(dot + 1) };
}
