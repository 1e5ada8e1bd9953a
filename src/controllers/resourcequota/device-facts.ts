// Facts for the usage of claims for devices: the device classes, and the pods that claims were made
// for. Nothing is watched as long as no quota limits devices.

import type { Pod } from '#api/groups/core/v1/index.ts';
import {
  DEVICE_CLAIMS,
  type ExtendedResources,
  extendedResourcesOf,
  factsAt,
  NO_EXTENDED_RESOURCES,
  type QuotaFacts,
} from '#api/groups/core/v1/quota/index.ts';
import type { DeviceClass, ResourceClaim } from '#api/groups/resource/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { InformerSource, Lister, SharedInformer } from '#client/informers/index.ts';
import { type DiscoveredResource, hasVerbs } from '../discovery.ts';

type ReadClass = Immutable<DeviceClass>;

export class DeviceFacts {
  readonly #informers: InformerSource;
  readonly #onChange: () => void;
  /** The device classes of the server, in the version that it prefers. */
  #type: DiscoveredResource | undefined;
  #classes: SharedInformer<ReadClass> | undefined;
  /** Computed from the classes; undefined: not since the last change. */
  #extendedResources: ExtendedResources | undefined;

  /** `onChange` is called when the extended resources of device classes have changed. */
  constructor(informers: InformerSource, onChange: () => void) {
    this.#informers = informers;
    this.#onChange = onChange;
  }

  /** Takes the resources of the last discovery. */
  discovered(resources: readonly DiscoveredResource[]): void {
    this.#type = resources.find(
      (each) =>
        each.group === DEVICE_CLAIMS.group &&
        each.resource === 'deviceclasses' &&
        each.preferred &&
        hasVerbs(each, 'list', 'watch'),
    );
  }

  /**
   * Returns the informer of the device classes, which the caller starts; undefined if the server has
   * no device classes.
   */
  follow(): SharedInformer<ReadClass> | undefined {
    if (this.#classes !== undefined || this.#type === undefined) return this.#classes;
    const classes = this.#informers.informerFor(this.#type) as unknown as SharedInformer<ReadClass>;
    const changed = (): void => {
      this.#extendedResources = undefined;
      this.#onChange();
    };
    classes.addEventHandler({
      onAdd: changed,
      onUpdate: (before, after) => {
        if (before.spec.extendedResourceName !== after.spec.extendedResourceName) changed();
      },
      onDelete: changed,
    });
    this.#classes = classes;
    return classes;
  }

  get extendedResources(): ExtendedResources {
    if (this.#classes === undefined) return NO_EXTENDED_RESOURCES;
    this.#extendedResources ??= extendedResourcesOf(this.#classes.lister.list());
    return this.#extendedResources;
  }

  /** Returns the facts at a time. A lister is undefined if the objects are not watched. */
  factsAt(
    nowMs: number,
    pods: Lister<Immutable<KubeObject>> | undefined,
    claims: Lister<Immutable<KubeObject>> | undefined,
  ): QuotaFacts {
    return {
      ...factsAt(nowMs),
      extendedResources: this.extendedResources,
      pod: (namespace, name) => pods?.get(namespace, name) as Immutable<Pod> | undefined,
      claims: (namespace) =>
        (claims?.list(namespace) ?? []) as unknown as readonly Immutable<ResourceClaim>[],
    };
  }
}
