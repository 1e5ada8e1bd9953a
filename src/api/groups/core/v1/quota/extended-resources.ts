// The extended resources that device classes provide. A container requests a device as
// `example.com/gpu`, the class's extendedResourceName, or as the class's implicit name,
// `deviceclass.resource.kubernetes.io/CLASS`. A quota limits both with the prefix `requests.`.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { DeviceClass } from '#api/groups/resource/v1/index.ts';
import { isNativeResource } from '../pod-resources.ts';

export const REQUESTS = 'requests.';
const IMPLICIT = 'deviceclass.resource.kubernetes.io/';

export interface ExtendedResources {
  /** The extendedResourceName by the name of the class; undefined if the class has none. */
  readonly byClass: ReadonlyMap<string, string | undefined>;
  /** All values of `byClass`. */
  readonly names: ReadonlySet<string>;
}

export const NO_EXTENDED_RESOURCES: ExtendedResources = { byClass: new Map(), names: new Set() };

export function extendedResourcesOf(classes: readonly Immutable<DeviceClass>[]): ExtendedResources {
  const byClass = new Map(
    classes.map(({ metadata, spec }) => [metadata.name, spec.extendedResourceName]),
  );
  return { byClass, names: new Set([...byClass.values()].filter((name) => name !== undefined)) };
}

/** Returns the limits that a device of the class counts for, beyond that of the class's devices. */
export function extendedLimitsOf(
  className: string,
  { byClass }: ExtendedResources,
): readonly string[] {
  const explicit = byClass.get(className);
  const implicit = `${REQUESTS}${IMPLICIT}${className}`;
  return explicit === undefined ? [implicit] : [implicit, `${REQUESTS}${explicit}`];
}

/** Reports whether containers can request the resource as an extended resource. */
export const isExtendedResource = (name: string): boolean =>
  name.startsWith(IMPLICIT) || (!isNativeResource(name) && !name.startsWith(REQUESTS));

/** Reports whether the limit is on requests of an extended resource. */
export const isExtendedLimit = (name: string): boolean =>
  name.startsWith(REQUESTS) && (name.startsWith(REQUESTS + IMPLICIT) || !isNativeResource(name));

/** Reports whether the limit is on an extended resource that a device class provides. */
export function isLimitOfClass(name: string, { byClass, names }: ExtendedResources): boolean {
  if (!isExtendedLimit(name)) return false;
  const resource = name.slice(REQUESTS.length);
  return resource.startsWith(IMPLICIT)
    ? byClass.has(resource.slice(IMPLICIT.length))
    : names.has(resource);
}
