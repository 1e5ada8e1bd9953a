// Lists of resources as numbers, which quotas add and compare.

import { parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as core from '../types.ts';

/** Amounts by the name of the resource. */
export type Amounts = ReadonlyMap<string, Quantity>;

export function amountsOf(list: Immutable<core.ResourceList> | undefined): Amounts {
  return new Map(Object.entries(list ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]));
}

/** Returns the list of resources, in alphabetical order. */
export function listOf(amounts: Amounts): core.ResourceList {
  return Object.fromEntries(
    [...amounts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, amount]) => [name, amount.toString()]),
  );
}

export function addAmounts(a: Amounts, b: Amounts): Amounts {
  const sum = new Map(a);
  for (const [name, amount] of b) sum.set(name, sum.get(name)?.add(amount) ?? amount);
  return sum;
}

/** Returns `a` minus `b` for each resource of either; negative differences are zero. */
export function growth(a: Amounts, b: Amounts): Amounts {
  const more = new Map<string, Quantity>();
  for (const [name, amount] of a) {
    const before = b.get(name);
    const by = before === undefined ? amount : amount.sub(before);
    if (by.sign() > 0) more.set(name, by);
  }
  return more;
}

export function only(amounts: Amounts, names: ReadonlySet<string>): Amounts {
  return new Map([...amounts].filter(([name]) => names.has(name)));
}

export function sameAmounts(a: Amounts, b: Amounts): boolean {
  return (
    a.size === b.size && [...a].every(([name, amount]) => b.get(name)?.equals(amount) === true)
  );
}

/** Returns amounts in the form of messages: 'cpu=1,pods=2'. */
export function amountsText(amounts: Amounts): string {
  return Object.entries(listOf(amounts))
    .map(([name, amount]) => `${name}=${amount}`)
    .join(',');
}
