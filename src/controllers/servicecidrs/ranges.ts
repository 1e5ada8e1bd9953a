// Relations between ServiceCIDRs, and between them and addresses.

import type { ServiceCIDR } from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  containsRange,
  type IpRange,
  isHostOf,
  overlaps,
  parseCidr,
  parseIp,
} from '#machinery/net/ip.ts';

export type ReadServiceCIDR = Immutable<ServiceCIDR>;

export const rangesOf = ({ spec }: ReadServiceCIDR): readonly IpRange[] =>
  (spec.cidrs ?? []).flatMap((cidr) => parseCidr(cidr) ?? []);

/** Reports whether a range of the ServiceCIDR contains the address. Invalid text is in no range. */
export function hasAddress(object: ReadServiceCIDR, address: string): boolean {
  const ip = parseIp(address);
  return ip !== undefined && rangesOf(object).some((range) => isHostOf(range, ip));
}

export const touch = (a: ReadServiceCIDR, b: ReadServiceCIDR): boolean =>
  rangesOf(a).some((range) => rangesOf(b).some((other) => overlaps(range, other)));

/**
 * Reports whether a ServiceCIDR may be deleted: `others` (all that stay) contain all of its ranges,
 * or each of its addresses in use.
 */
export function canGo(
  object: ReadServiceCIDR,
  others: readonly ReadServiceCIDR[],
  addressesInUse: readonly string[],
): boolean {
  const isCovered = (range: IpRange): boolean =>
    others.some((other) => rangesOf(other).some((outer) => containsRange(outer, range)));
  if (rangesOf(object).every(isCovered)) return true;
  return addressesInUse.every(
    (address) => !hasAddress(object, address) || others.some((other) => hasAddress(other, address)),
  );
}
