// Computes the capacity that a request consumes of a device that several claims can share, and sums
// of it.

import type { CapacityRequestPolicy, DeviceCapacity } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { newQuantity, parseQuantity, type Quantity } from '#machinery/text/quantity.ts';

export type Capacities = Readonly<Record<string, Immutable<DeviceCapacity>>>;
/** By the capacity's name. */
export type Consumed = ReadonlyMap<string, Quantity>;

/**
 * Returns the share of each capacity that the request takes; undefined if the device cannot provide
 * it even if it is free.
 */
export function consumedBy(
  requests: Readonly<Record<string, string>> | undefined,
  capacities: Capacities,
): Consumed | undefined {
  const wanted = requests ?? {};
  if (Object.keys(wanted).some((name) => !Object.hasOwn(capacities, name))) return undefined;
  const consumed = new Map<string, Quantity>();
  for (const [name, { value, requestPolicy }] of Object.entries(capacities)) {
    const text = Object.hasOwn(wanted, name) ? wanted[name] : undefined;
    const amount =
      text === undefined
        ? parseQuantity(requestPolicy?.default ?? value)
        : roundedUp(parseQuantity(text), requestPolicy);
    if (amount === undefined) return undefined;
    consumed.set(name, amount);
  }
  return consumed;
}

/** Rounds up to the next value that the policy allows; undefined beyond its maximum. */
function roundedUp(
  wanted: Quantity,
  policy: Immutable<CapacityRequestPolicy> | undefined,
): Quantity | undefined {
  if (policy?.validValues !== undefined) {
    const values = policy.validValues.map(parseQuantity).sort((a, b) => a.cmp(b));
    return values.find((value) => value.cmp(wanted) >= 0);
  }
  const range = policy?.validRange;
  if (range?.min === undefined) return wanted;
  const min = parseQuantity(range.min);
  let amount = wanted.cmp(min) < 0 ? min : wanted;
  if (range.step !== undefined) {
    const step = parseQuantity(range.step).scaledValueExact(0);
    const above = amount.sub(min).scaledValueExact(0);
    const steps = (above + step - 1n) / step;
    amount = min.add(newQuantity(steps * step, 'BinarySI'));
  }
  return range.max !== undefined && amount.cmp(parseQuantity(range.max)) > 0 ? undefined : amount;
}

export function sum(a: Consumed | undefined, b: Consumed | undefined): Consumed {
  const total = new Map(a);
  for (const [name, amount] of b ?? []) {
    const present = total.get(name);
    total.set(name, present === undefined ? amount : present.add(amount));
  }
  return total;
}

export function difference(a: Consumed, b: Consumed): Consumed {
  const left = new Map(a);
  for (const [name, amount] of b)
    left.set(name, (left.get(name) ?? newQuantity(0, 'DecimalSI')).sub(amount));
  return left;
}

/** Reports whether the capacities are large enough. */
export function isWithin(consumed: Consumed, capacities: Capacities): boolean {
  for (const [name, amount] of consumed) {
    const capacity = Object.hasOwn(capacities, name) ? capacities[name] : undefined;
    if (capacity !== undefined && amount.cmp(parseQuantity(capacity.value)) > 0) return false;
  }
  return true;
}
