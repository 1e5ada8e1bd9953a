// Validation of limit ranges.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { newQuantity, parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import * as validation from '#machinery/validation/validation.ts';
import { isOvercommitAllowed } from '../pod-resources.ts';
import type { LimitRange, LimitRangeItem } from './types.ts';
import { invalidEach } from './common.ts';
import { containerResourceName, resourceName } from './resources.ts';

const LIMITS = field.path('spec', 'limits');
const TYPES: ReadonlySet<string> = new Set(['Pod', 'Container', 'PersistentVolumeClaim']);
const LISTS = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;
const ONE = newQuantity(1, 'DecimalSI');
/** The greatest amount whose thousandths fit 64 bits. */
const MAX_MILLI_VALUE = Number((2n ** 63n - 1n) / 1000n);

export function validateLimitRange({ spec }: LimitRange): FieldErrorList {
  const seen = new Set<string>();
  return (spec.limits ?? []).flatMap((item, index) => {
    const at = LIMITS.index(index);
    const errors = limitType(item.type, at.child('type'));
    if (seen.has(item.type)) errors.push(field.duplicate(at.child('type'), item.type));
    seen.add(item.type);
    return [...errors, ...names(item, at), ...amounts(item, at)];
  });
}

function limitType(type: string, at: FieldPath): FieldErrorList {
  const errors = invalidEach(at, type, validation.isQualifiedName(type));
  if (errors.length > 0 || type.includes('/') || TYPES.has(type)) return errors;
  return [field.invalid(at, type, 'must be a standard limit type or fully qualified')];
}

function names(item: LimitRangeItem, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const isPod = item.type === 'Pod';
  const rule = isPod || item.type === 'Container' ? containerResourceName : resourceName;
  for (const list of LISTS) {
    const resources = Object.keys(item[list] ?? {});
    if (isPod && (list === 'default' || list === 'defaultRequest')) {
      if (resources.length > 0)
        errors.push(field.forbidden(at.child(list), "may not be specified when `type` is 'Pod'"));
      continue;
    }
    if (list === 'maxLimitRequestRatio' && item.type === 'PersistentVolumeClaim')
      errors.push(...claimLimits(item, at));
    for (const name of resources) errors.push(...rule(name, at.child(list).key(name)));
  }
  return errors;
}

function claimLimits({ min, max }: LimitRangeItem, at: FieldPath): FieldErrorList {
  if (min?.['storage'] !== undefined || max?.['storage'] !== undefined) return [];
  const message = 'either minimum or maximum storage value is required, but neither was provided';
  return [field.required(at.child('limits'), message)];
}

function amounts(item: LimitRangeItem, at: FieldPath): FieldErrorList {
  const lists = item.type === 'Pod' ? LISTS.filter((list) => !list.startsWith('default')) : LISTS;
  const resources = new Set(lists.flatMap((list) => Object.keys(item[list] ?? {})));
  return [...resources].flatMap((name) => {
    const amount = (list: List): Quantity | undefined => {
      const amounts = lists.includes(list) ? item[list] : undefined;
      const text =
        amounts !== undefined && Object.hasOwn(amounts, name) ? amounts[name] : undefined;
      return text === undefined ? undefined : parseQuantity(text);
    };
    return amountsOf(name, amount, at);
  });
}

type List = (typeof LISTS)[number];

/**
 * Pairs of amounts, the first of which must not exceed the second, and the amount at which the
 * error is reported.
 */
const ORDER: readonly (readonly [
  less: List,
  lessName: string,
  more: List,
  moreName: string,
  at: List,
  shown: List,
])[] = [
  ['min', 'min', 'max', 'max', 'min', 'min'],
  ['min', 'min', 'defaultRequest', 'default request', 'defaultRequest', 'defaultRequest'],
  ['defaultRequest', 'default request', 'max', 'max', 'defaultRequest', 'defaultRequest'],
  [
    'defaultRequest',
    'default request',
    'default',
    'default limit',
    'defaultRequest',
    'defaultRequest',
  ],
  ['min', 'min', 'default', 'default', 'default', 'min'],
  ['default', 'default', 'max', 'max', 'default', 'max'],
];

/** Returns the amounts of one resource. */
function amountsOf(
  name: string,
  amount: (list: List) => Quantity | undefined,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const report = (list: List, value: string | undefined, message: string): void => {
    errors.push(field.invalid(at.child(list).key(name), value, message));
  };
  for (const [less, lessName, more, moreName, where, shown] of ORDER) {
    const [a, b] = [amount(less), amount(more)];
    if (a === undefined || b === undefined || a.cmp(b) <= 0) continue;
    const message = `${lessName} value ${a.toString()} is greater than ${moreName} value ${b.toString()}`;
    report(where, amount(shown)?.toString(), message);
  }
  const [min, max, limit] = [amount('min'), amount('max'), amount('default')];
  const ratio = amount('maxLimitRequestRatio');
  if (ratio !== undefined) {
    const shown = ratio.toString();
    if (ratio.cmp(ONE) < 0) report('maxLimitRequestRatio', shown, `ratio ${shown} is less than 1`);
    const possible =
      min === undefined || max === undefined ? Number.POSITIVE_INFINITY : quotient(max, min, ratio);
    if (toRatio(ratio, min, max) > possible) {
      report(
        'maxLimitRequestRatio',
        shown,
        `ratio ${shown} is greater than max/min = ${possible.toFixed(6)}`,
      );
    }
  }
  const request = amount('defaultRequest');
  if (
    !isOvercommitAllowed(name) &&
    limit !== undefined &&
    request !== undefined &&
    limit.cmp(request) !== 0
  ) {
    const shown = request.toString();
    report(
      'defaultRequest',
      shown,
      `default value ${limit.toString()} must equal to defaultRequest value ${shown} in ${name}`,
    );
  }
  return errors;
}

/** Reports whether thousandths are compared: all amounts are small enough for that. */
function inThousandths(...quantities: readonly (Quantity | undefined)[]): boolean {
  return quantities.every((quantity) => (quantity?.value() ?? 0) < MAX_MILLI_VALUE);
}

function toRatio(ratio: Quantity, min: Quantity | undefined, max: Quantity | undefined): number {
  return inThousandths(ratio, min, max) ? ratio.milliValue() / 1000 : ratio.value();
}

function quotient(max: Quantity, min: Quantity, ratio: Quantity): number {
  return inThousandths(ratio, min, max)
    ? max.milliValue() / min.milliValue()
    : max.value() / min.value();
}
