// Extended resources of device classes: a pod requests `example.com/gpu: 1`, and if no kubelet
// provides the resource, it gets a device of the class with that extendedResourceName.

import {
  deviceClasses,
  type DeviceClass as ApiDeviceClass,
} from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Handle } from '../framework/handle.ts';
import { isExtendedResourceName } from '#api/groups/core/v1/extended-resource.ts';

type DeviceClass = Immutable<ApiDeviceClass>;

/** A resource with this prefix and the name of a class means one device of the class. */
const BY_CLASS_NAME = 'deviceclass.resource.kubernetes.io/';

export class ExtendedResources {
  readonly #lister;
  #version = 0;
  /** By extendedResourceName; undefined: not computed since the last change. */
  #byResource: Map<string, DeviceClass> | undefined;

  constructor({ informers, ended }: Pick<Handle, 'informers' | 'ended'>) {
    const informer = informers.informerFor(deviceClasses);
    this.#lister = informer.lister;
    const changed = (): void => {
      this.#version++;
      this.#byResource = undefined;
    };
    const registration = informer.addEventHandler({
      onAdd: changed,
      onUpdate: changed,
      onDelete: changed,
    });
    ended.addEventListener('abort', () => registration.remove(), { once: true });
  }

  /** Changes whenever the result of `classFor` may change. */
  get version(): number {
    return this.#version;
  }

  /**
   * Returns the class whose devices provide this resource. If there are several, the newest; of
   * those, the first by name.
   */
  classFor(resource: string): DeviceClass | undefined {
    if (resource.startsWith(BY_CLASS_NAME))
      return this.#lister.get('', resource.slice(BY_CLASS_NAME.length));
    if (!isExtendedResourceName(resource)) return undefined;
    this.#byResource ??= this.#read();
    return this.#byResource.get(resource);
  }

  #read(): Map<string, DeviceClass> {
    const byResource = new Map<string, DeviceClass>();
    for (const one of this.#lister.list()) {
      const resource = one.spec.extendedResourceName;
      if (resource === undefined) continue;
      const present = byResource.get(resource);
      if (present === undefined || goesBefore(one, present)) byResource.set(resource, one);
    }
    return byResource;
  }
}

function goesBefore({ metadata: a }: DeviceClass, { metadata: b }: DeviceClass): boolean {
  return a.creationTimestamp === b.creationTimestamp
    ? a.name < b.name
    : a.creationTimestamp > b.creationTimestamp;
}

/** Reports whether the class provides one of these resources. */
export function providesAny(
  { metadata, spec }: DeviceClass,
  resources: readonly string[],
): boolean {
  return resources.some(
    (name) => name === spec.extendedResourceName || name === BY_CLASS_NAME + metadata.name,
  );
}
