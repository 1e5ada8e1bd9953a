// The constraints of a claim on its devices: equal values of an attribute, or distinct ones.

import type { DeviceAttribute, DeviceConstraint } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { PooledDevice } from './pools.ts';

/** The request of a device and, if it has several, the alternative. */
export interface RequestName {
  readonly request: string;
  readonly alternative?: string;
}

/**
 * A constraint to which devices are added and removed during the search. If it rejects a device, it
 * would also reject it with more devices present.
 */
export interface Constraint {
  /** Adds a device. Returns false, without adding it, if it violates the constraint. */
  add(name: RequestName, device: PooledDevice): boolean;
  /** Removes the device that was added last. */
  remove(name: RequestName, device: PooledDevice): void;
}

/** Returns the constraint; undefined for an unknown type. */
export function constraintOf({
  requests,
  matchAttribute,
  distinctAttribute,
}: Immutable<DeviceConstraint>): Constraint | undefined {
  const attribute = matchAttribute ?? distinctAttribute;
  if (attribute === undefined) return undefined;
  const concerns = ({ request, alternative }: RequestName): boolean =>
    requests === undefined ||
    requests.length === 0 ||
    requests.includes(request) ||
    (alternative !== undefined && requests.includes(`${request}/${alternative}`));
  const values: string[] = [];
  return {
    add(name, device) {
      if (!concerns(name)) return true;
      const value = valueText(attributeOf(device, attribute));
      if (value === undefined) return false;
      if (
        matchAttribute !== undefined
          ? values.length > 0 && values[0] !== value
          : values.includes(value)
      )
        return false;
      values.push(value);
      return true;
    },
    remove(name) {
      if (concerns(name)) values.pop();
    },
  };
}

/** Returns the attribute. `name` has a domain; drivers may omit their own domain. */
function attributeOf(
  { device, pool }: PooledDevice,
  name: string,
): Immutable<DeviceAttribute> | undefined {
  const attributes = device.attributes ?? {};
  if (Object.hasOwn(attributes, name)) return attributes[name];
  const slash = name.indexOf('/');
  const short = name.slice(slash + 1);
  return slash >= 0 && name.slice(0, slash) === pool.driver && Object.hasOwn(attributes, short)
    ? attributes[short]
    : undefined;
}

/** Returns equal texts for equal values of the same type. */
function valueText(attribute: Immutable<DeviceAttribute> | undefined): string | undefined {
  const { string, int, bool, version } = attribute ?? {};
  if (string !== undefined) return `string ${string}`;
  if (int !== undefined) return `int ${int}`;
  if (bool !== undefined) return `bool ${bool}`;
  return version === undefined ? undefined : `version ${version}`;
}
