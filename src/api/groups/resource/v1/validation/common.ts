// Rules that the kinds of the group share: lists with a limit, names of drivers, pools, attributes.
// Messages, paths and error types in this folder are upstream's (pkg/apis/resource/validation).

import { isPlainObject } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach } from '#api/groups/core/v1/validation/common.ts';
import { validateCSIDriverName } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as resource from '../types.ts';

type ItemRule<T> = (item: T, at: FieldPath) => FieldErrorList;

const MAX_POOL_NAME = 253;
const MAX_DOMAIN = 63;
const MAX_ID = 32;
export const MAX_QUALIFIED_NAME = MAX_DOMAIN + 1 + MAX_ID;

/** Validates every item of a list. A list that is too long has this error only. */
export function items<T>(
  list: readonly T[],
  max: number,
  rule: ItemRule<T>,
  at: FieldPath,
): FieldErrorList {
  if (list.length > max) return [field.tooMany(at, list.length, max)];
  return list.flatMap((item, index) => rule(item, at.index(index)));
}

/** Validates items, which must be unique. */
export function set<T>(
  list: readonly T[],
  max: number,
  rule: ItemRule<T>,
  key: (item: T) => string,
  at: FieldPath,
): FieldErrorList {
  const errors = items(list, max, rule, at);
  if (list.length > max) return errors;
  const seen = new Set<string>();
  list.forEach((item, index) => {
    if (seen.has(key(item))) errors.push(field.duplicate(at.index(index), key(item)));
    seen.add(key(item));
  });
  return errors;
}

/**
 * Validates a map. Errors of keys have the path of the map. Errors of values have the key in their
 * path, cut in its middle if it is longer than `maxKey`.
 */
export function entries<T>(
  map: Readonly<Record<string, T>>,
  max: number,
  maxKey: number,
  keyRule: ItemRule<string>,
  rule: ItemRule<T>,
  at: FieldPath,
): FieldErrorList {
  const list = Object.entries(map);
  if (list.length > max) return [field.tooMany(at, list.length, max)];
  return list.flatMap(([key, value]) => [
    ...keyRule(key, at),
    ...rule(value, at.key(cut(key, maxKey))),
  ]);
}

function cut(text: string, max: number): string {
  const limit = Math.max(max, 16);
  if (text.length <= limit) return text;
  const rest = limit - 3;
  return `${text.slice(0, Math.floor((rest + 1) / 2))}...${text.slice(text.length - Math.floor(rest / 2))}`;
}

/** Validates the name of a driver. A missing name has this error only. */
export function driverName(name: string, at: FieldPath): FieldErrorList {
  return name === '' ? [field.required(at)] : validateCSIDriverName(name, at);
}

export function label(name: string, at: FieldPath): FieldErrorList {
  return invalidEach(at, name, validation.isDNS1123Label(name));
}

export function requiredLabel(name: string, at: FieldPath): FieldErrorList {
  return name === '' ? [field.required(at)] : label(name, at);
}

export function labelValue(value: string, at: FieldPath): FieldErrorList {
  return invalidEach(at, value, validation.isValidLabelValue(value));
}

export function poolName(name: string, at: FieldPath): FieldErrorList {
  if (name === '') return [field.required(at)];
  return [
    ...(Buffer.byteLength(name) > MAX_POOL_NAME ? [field.tooLong(at, '', MAX_POOL_NAME)] : []),
    ...name
      .split('/')
      .flatMap((part) => invalidEach(at, part, validation.isDNS1123Subdomain(part))),
  ];
}

/** Validates the name of an attribute or a capacity, with or without the domain of its owner. */
export function qualifiedName(name: string, at: FieldPath): FieldErrorList {
  const [first = '', second, ...more] = name.split('/');
  if (second === undefined) return identifier(first, at);
  // Names with more parts are accepted, as in upstream.
  if (more.length > 0) return [];
  return [
    ...(first === ''
      ? [field.invalid(at, '', 'the domain must not be empty')]
      : driverName(first, at)),
    ...(second === ''
      ? [field.invalid(at, '', 'the name must not be empty')]
      : identifier(second, at)),
  ];
}

export function fullyQualifiedName(name: string, at: FieldPath): FieldErrorList {
  const message = 'a fully qualified name must be a domain and a name separated by a slash';
  return [
    ...qualifiedName(name, at),
    ...(name.includes('/') ? [] : [field.invalid(at, name, message)]),
  ];
}

function identifier(name: string, at: FieldPath): FieldErrorList {
  return [
    ...(Buffer.byteLength(name) > MAX_ID ? [field.tooLong(at, '', MAX_ID)] : []),
    ...invalidEach(at, name, validation.isCIdentifier(name)),
  ];
}

/** Validates a UID in lower case. */
export function uid(text: string, at: FieldPath): FieldErrorList {
  if (text.length !== 36)
    return [field.invalid(at, text, `error validating uid: invalid UUID length: ${text.length}`)];
  if (!/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/.test(text)) {
    return [field.invalid(at, text, 'error validating uid: invalid UUID format')];
  }
  if (text === text.toLowerCase()) return [];
  const form = '`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters';
  return [field.invalid(at, text, `uid must be in RFC 4122 normalized form, ${form}`)];
}

/** Validates parameters for a driver: an object of limited size. */
export function rawObject(value: unknown, max: number, at: FieldPath): FieldErrorList {
  if (value === undefined || value === null) return [field.required(at)];
  if (Buffer.byteLength(JSON.stringify(value)) > max) return [field.tooLong(at, '', max)];
  return isPlainObject(value)
    ? []
    : [field.invalid(at, '<value omitted>', 'must be a valid JSON object')];
}

const TAINT_EFFECTS = ['NoExecute', 'NoSchedule', 'None'];

export function taint(
  { key, value = '', effect }: Immutable<resource.DeviceTaint>,
  at: FieldPath,
): FieldErrorList {
  const errors = [
    ...validation.validateLabelName(key, at.child('key')),
    ...labelValue(value, at.child('value')),
  ];
  const given: string = effect;
  if (given === '') errors.push(field.required(at.child('effect')));
  else if (!TAINT_EFFECTS.includes(given))
    errors.push(field.notSupported(at.child('effect'), given, TAINT_EFFECTS));
  return errors;
}

export function toleration(
  each: Immutable<resource.DeviceToleration>,
  at: FieldPath,
): FieldErrorList {
  const { key = '', operator, value = '', effect } = each;
  const errors = key === '' ? [] : validation.validateLabelName(key, at.child('key'));
  switch (operator) {
    case 'Exists':
      if (value !== '')
        errors.push(field.invalid(at.child('value'), value, 'must be empty for operator `Exists`'));
      break;
    case 'Equal':
      errors.push(...labelValue(value, at.child('value')));
      break;
    case undefined:
      errors.push(field.required(at.child('operator')));
      break;
    default:
      errors.push(field.notSupported(at.child('operator'), operator, ['Equal', 'Exists']));
  }
  if (effect !== undefined && !TAINT_EFFECTS.includes(effect)) {
    errors.push(field.notSupported(at.child('effect'), effect, TAINT_EFFECTS));
  }
  return errors;
}

const MAX_BINDING_CONDITIONS = 4;

/**
 * Validates the conditions that must hold before a pod is bound, and those of failure: both are
 * set, or none.
 */
export function bindingConditions(
  conditions: readonly string[],
  failures: readonly string[],
  at: FieldPath,
): FieldErrorList {
  const path = at.child('bindingConditions');
  const failurePath = at.child('bindingFailureConditions');
  const rule = validation.validateLabelName;
  const errors = [
    ...items(conditions, MAX_BINDING_CONDITIONS, rule, path),
    ...items(failures, MAX_BINDING_CONDITIONS, rule, failurePath),
  ];
  const repeated = (list: readonly string[], index: number): boolean =>
    list.indexOf(list[index]!) < index;
  conditions.forEach((condition, index) => {
    if (repeated(conditions, index)) errors.push(field.duplicate(path.index(index), condition));
  });
  failures.forEach((condition, index) => {
    if (repeated(failures, index))
      errors.push(field.duplicate(failurePath.index(index), condition));
    if (!conditions.includes(condition)) return;
    errors.push(
      field.invalid(
        failurePath.index(index),
        condition,
        'bindingFailureConditions must not overlap with bindingConditions',
      ),
    );
  });
  if (conditions.length === 0 && failures.length > 0) {
    errors.push(
      field.invalid(path, null, 'bindingConditions are required to use bindingFailureConditions'),
    );
  }
  if (failures.length === 0 && conditions.length > 0) {
    errors.push(
      field.invalid(
        failurePath,
        null,
        'bindingFailureConditions are required to use bindingConditions',
      ),
    );
  }
  return errors;
}
