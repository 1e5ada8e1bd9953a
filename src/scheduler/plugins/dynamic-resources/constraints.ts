// The constraints of a claim for its devices together: one value of an attribute for all, or a
// different one for each.

import type { DeviceAttribute, DeviceConstraint } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { PooledDevice } from './pools.ts';

/** The request for which a device is, and if it is one of several alternatives, which. */
export interface RequestName {
  readonly request: string;
  readonly alternative?: string;
}

/**
 * Devices come and go as possibilities are tried. Once one is refused, more devices would not
 * change that.
 */
export interface Constraint {
  /** False: the device may not join those that are in, and has not. */
  add(name: RequestName, device: PooledDevice): boolean;
  /** The last one that was added goes. */
  remove(name: RequestName, device: PooledDevice): void;
}

/** Undefined if it says nothing that is known. */
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

/** `name` has a domain; the driver may have left its own out. */
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

/** The same for the same value of the same kind. */
function valueText(attribute: Immutable<DeviceAttribute> | undefined): string | undefined {
  const { string, int, bool, version } = attribute ?? {};
  if (string !== undefined) return `string ${string}`;
  if (int !== undefined) return `int ${int}`;
  if (bool !== undefined) return `bool ${bool}`;
  return version === undefined ? undefined : `version ${version}`;
}
