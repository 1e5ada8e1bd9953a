// Sets of addresses and of ports as sorted, disjoint ranges.

import { bitsOf, type IpFamily, type IpRange } from '#machinery/net/ip.ts';
import type { AddressRange, PortRange } from '../model.ts';

/** Returns the addresses of `cidr` that are in none of `except`, sorted. */
export function without(cidr: IpRange, except: readonly IpRange[]): readonly AddressRange[] {
  const { family } = cidr;
  const holes = except
    .filter((hole) => hole.family === family && hole.last >= cidr.first && hole.first <= cidr.last)
    .sort((a, b) => compare(a.first, b.first));
  const rest: AddressRange[] = [];
  let from = cidr.first;
  for (const hole of holes) {
    if (hole.first > from) rest.push({ family, first: from, last: hole.first - 1n });
    if (hole.last >= from) from = hole.last + 1n;
  }
  if (from <= cidr.last) rest.push({ family, first: from, last: cidr.last });
  return rest;
}

/**
 * Returns the union of ranges as sorted ranges that neither overlap nor touch. Families are kept
 * apart, IPv4 first.
 */
export function unionOf(ranges: readonly AddressRange[]): readonly AddressRange[] {
  const union: AddressRange[] = [];
  for (const range of ranges.toSorted(
    (a, b) => a.family.localeCompare(b.family) || compare(a.first, b.first),
  )) {
    const last = union.at(-1);
    if (last === undefined || last.family !== range.family || range.first > last.last + 1n)
      union.push(range);
    else if (range.last > last.last) union[union.length - 1] = { ...last, last: range.last };
  }
  return union;
}

/** Reports whether the ranges contain every address of the family. They must be a union. */
export const isWholeFamily = (ranges: readonly AddressRange[], family: IpFamily): boolean =>
  ranges.some(
    (range) =>
      range.family === family &&
      range.first === 0n &&
      range.last === (1n << BigInt(bitsOf(family))) - 1n,
  );

/** Returns the union of ranges of ports: sorted, disjoint. */
export function unionOfPorts(ranges: readonly PortRange[]): readonly PortRange[] {
  const union: [number, number][] = [];
  for (const [first, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = union.at(-1);
    if (last === undefined || first > last[1] + 1) union.push([first, end]);
    else if (end > last[1]) last[1] = end;
  }
  return union;
}

export const isEveryPort = (ranges: readonly PortRange[]): boolean =>
  ranges.some(([first, last]) => first <= 1 && last >= 65_535);

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
