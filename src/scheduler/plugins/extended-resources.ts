// Extended resources that device classes provide: a pod asks for `example.com/gpu: 1` as ever, and
// where no node's kubelet offers such a thing, it gets a device of the class that says it is one.

import {
  deviceClasses,
  type DeviceClass as ApiDeviceClass,
} from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Handle } from '../framework/handle.ts';
import { isExtendedResourceName } from '../framework/resource.ts';

type DeviceClass = Immutable<ApiDeviceClass>;

/** Before the name of any class: the resource that is one device of it. */
const BY_CLASS_NAME = 'deviceclass.resource.kubernetes.io/';

export class ExtendedResources {
  readonly #lister;
  #version = 0;
  /** By the resource that they say they are; undefined: not known since the last change. */
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

  /** Another number whenever `classFor` may answer otherwise. */
  get version(): number {
    return this.#version;
  }

  /**
   * The class whose devices are this resource. Of several that say so, the latest; of those, the
   * first by name.
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

/** Whether the class provides one of these resources. */
export function providesAny(
  { metadata, spec }: DeviceClass,
  resources: readonly string[],
): boolean {
  return resources.some(
    (name) => name === spec.extendedResourceName || name === BY_CLASS_NAME + metadata.name,
  );
}
