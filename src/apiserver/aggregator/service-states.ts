// The services that APIServices name, with their EndpointSlices, in memory: one watch for each
// service. Other services are not watched.

import type * as core from '#api/groups/core/v1/index.ts';
import type * as discovery from '#api/groups/discovery/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { SERVICE_NAME_LABEL } from '#client/endpoints/index.ts';
import * as fields from '#machinery/selectors/fields.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { Follower, keyOf, type FollowerConfig, type Keeper } from '../catalog/follow.ts';
import type { Find, FindAll } from '../catalog/internal-client.ts';
import { Selection } from '../registry/selection.ts';

export interface ServiceState {
  /** Undefined: the service does not exist. */
  readonly service: Immutable<core.Service> | undefined;
  readonly slices: readonly Immutable<discovery.EndpointSlice>[];
}

const ABSENT: ServiceState = { service: undefined, slices: [] };

export interface ServiceStatesConfig extends FollowerConfig {
  /** Called when a service or its EndpointSlices have changed. */
  readonly onChange: (namespace: string, name: string) => void;
}

export class ServiceStates {
  readonly #config: ServiceStatesConfig;
  readonly #followed = new Map<string, FollowedService>();

  constructor(config: ServiceStatesConfig) {
    this.#config = config;
  }

  /**
   * Watches exactly these services. Resolves once their current states are loaded; a service that
   * cannot be read is retried in the background.
   */
  async follow(
    references: Iterable<{ readonly namespace: string; readonly name: string }>,
  ): Promise<void> {
    const wanted = new Map(
      [...references].map((reference) => [`${reference.namespace}/${reference.name}`, reference]),
    );
    for (const [key, followed] of this.#followed) {
      if (wanted.has(key)) continue;
      followed.stop();
      this.#followed.delete(key);
    }
    for (const [key, { namespace, name }] of wanted) {
      if (this.#followed.has(key)) continue;
      this.#followed.set(key, new FollowedService(this.#config, namespace, name));
    }
    await Promise.all([...this.#followed.values()].map((followed) => followed.ready));
  }

  /** Resolves once the state of the service is loaded; at once if it is not watched. */
  async synced(namespace: string, name: string): Promise<void> {
    await this.#followed.get(`${namespace}/${name}`)?.ready;
  }

  /** Finds watched services, for `resolveService`. Other objects count as missing. */
  readonly find: Find = <T extends KubeObject>(
    _group: string,
    resource: string,
    namespace: string,
    name: string,
  ) => (resource === 'services' ? this.get(namespace, name).service : undefined) as T | undefined;

  /** Returns the EndpointSlices of the watched services of a namespace. */
  readonly findAll: FindAll = <T extends KubeObject>(
    _group: string,
    resource: string,
    namespace: string,
  ) => {
    if (resource !== 'endpointslices') return [];
    const states = [...this.#followed]
      .filter(([key]) => key.startsWith(`${namespace}/`))
      .map(([, { state }]) => state);
    return states.flatMap(({ slices }) => slices) as unknown as readonly T[];
  };

  /** Returns the last known state. A service that is not watched counts as missing. */
  get(namespace: string, name: string): ServiceState {
    return this.#followed.get(`${namespace}/${name}`)?.state ?? ABSENT;
  }

  stop(): void {
    for (const followed of this.#followed.values()) followed.stop();
    this.#followed.clear();
  }
}

class FollowedService {
  readonly ready: Promise<void>;
  readonly #follower: Follower;
  readonly #slices = new Map<string, Immutable<discovery.EndpointSlice>>();
  #service: Immutable<core.Service> | undefined;
  #stopped = false;

  constructor({ onChange, ...config }: ServiceStatesConfig, namespace: string, name: string) {
    this.#follower = new Follower(config);
    const changed = (): void => {
      if (!this.#stopped) onChange(namespace, name);
    };
    const services: Keeper = {
      set: (object: KubeObject) => {
        this.#service = object as Immutable<core.Service>;
        changed();
      },
      delete: () => {
        this.#service = undefined;
        changed();
      },
    };
    const slices: Keeper = {
      set: (object: KubeObject) => {
        this.#slices.set(keyOf(object), object as Immutable<discovery.EndpointSlice>);
        changed();
      },
      delete: (key) => {
        this.#slices.delete(key);
        changed();
      },
    };
    const byName = new Selection({ fields: fields.oneTermEqualSelector('metadata.name', name) });
    const ofService = new Selection({
      labels: labels.selectorFromSet({ [SERVICE_NAME_LABEL]: name }),
    });
    // A failure has been logged, and is retried.
    const ignore = (): void => undefined;
    this.ready = Promise.all([
      this.#follower
        .follow('', 'services', services, { namespace, selection: byName })
        .catch(ignore),
      this.#follower
        .follow('discovery.k8s.io', 'endpointslices', slices, { namespace, selection: ofService })
        .catch(ignore),
    ]).then(ignore);
  }

  get state(): ServiceState {
    return { service: this.#service, slices: [...this.#slices.values()] };
  }

  stop(): void {
    this.#stopped = true;
    this.#follower.stop();
  }
}
