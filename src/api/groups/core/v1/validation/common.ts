// Rules that many kinds share. Messages, paths and error types in this folder are upstream's
// (pkg/apis/core/validation), with their peculiarities. Each function returns every problem.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Container, EphemeralContainer, PodSpec } from './types.ts';

export const MAX_INT32 = 2 ** 31 - 1;

/** Returns the messages of a format check as errors at a path. */
export function invalidEach(
  at: FieldPath,
  value: unknown,
  problems: readonly string[],
): FieldErrorList {
  return problems.map((problem) => field.invalid(at, value, problem));
}

/** The path of the whole object in upstream's messages. */
export const WHOLE = new field.FieldPath('[]');

export function nonNegative(value: number | undefined, at: FieldPath): FieldErrorList {
  return value !== undefined && value < 0
    ? [field.invalid(at, value, validation.IS_NEGATIVE_MESSAGE)]
    : [];
}

/**
 * Validates a required enum: a missing and an unknown value are different errors. `known` is listed
 * in the given order.
 */
export function oneOf(
  value: string | undefined,
  known: readonly string[],
  at: FieldPath,
): FieldErrorList {
  if (value === undefined || value === '') return [field.required(at)];
  return known.includes(value) ? [] : [field.notSupported(at, value, known)];
}

/** Validates an optional enum. */
export function optionalOneOf(
  value: string | undefined,
  known: readonly string[],
  at: FieldPath,
): FieldErrorList {
  return value === undefined || known.includes(value) ? [] : [field.notSupported(at, value, known)];
}

/** Validates a port number or name. */
export function portNumberOrName(port: number | string, at: FieldPath): FieldErrorList {
  return invalidEach(
    at,
    port,
    typeof port === 'number' ? validation.isValidPortNum(port) : validation.isValidPortName(port),
  );
}

/** Validates that the value is not empty. */
export function nonEmpty(value: string | undefined, at: FieldPath): FieldErrorList {
  return value === undefined || value === '' ? [field.required(at)] : [];
}

/** Validates a path below a directory: relative, and without '..'. */
export function localDescendingPath(path: string, at: FieldPath): FieldErrorList {
  return [
    ...(path.startsWith('/') ? [field.invalid(at, path, 'must be a relative path')] : []),
    ...noBacksteps(path, at),
  ];
}

export function noBacksteps(path: string, at: FieldPath): FieldErrorList {
  return path.split('/').includes('..') ? [field.invalid(at, path, "must not contain '..'")] : [];
}

/**
 * Does the same as localDescendingPath. In addition, the first segment must not begin with two
 * dots, which are reserved for the atomic writer.
 */
export function localNonReservedPath(path: string, at: FieldPath): FieldErrorList {
  const errors = localDescendingPath(path, at);
  if (path.startsWith('..') && !path.startsWith('../'))
    errors.push(field.invalid(at, path, "must not start with '..'"));
  return errors;
}

export function fileMode(mode: number | undefined, at: FieldPath): FieldErrorList {
  return mode !== undefined && (mode < 0 || mode > 0o777)
    ? [field.invalid(at, mode, 'must be a number between 0 and 0777 (octal), both inclusive')]
    : [];
}

/**
 * Returns every container of a pod with its path, in the order of their start. `at`: the path of
 * the spec.
 */
export function allContainers(
  spec: PodSpec,
  at: FieldPath,
): { readonly container: Container | EphemeralContainer; readonly at: FieldPath }[] {
  const all: { readonly container: Container | EphemeralContainer; readonly at: FieldPath }[] = [];
  for (const name of CONTAINER_LISTS) {
    const list = spec[name];
    if (list === undefined || list.length === 0) continue;
    const path = at.child(name);
    for (const [index, container] of list.entries()) all.push({ container, at: path.index(index) });
  }
  return all;
}

const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const;

/** Validates that a value has not changed. */
export function immutable(
  value: unknown,
  old: unknown,
  at: FieldPath,
  equal: (a: unknown, b: unknown) => boolean,
): FieldErrorList {
  return equal(value, old) ? [] : [field.invalid(at, value ?? null, 'field is immutable')];
}

/** Reports whether there is one address of each family. */
export function isDualStack(addresses: readonly string[]): boolean {
  return addresses.length === 2 && isIPv6(addresses[0]!) !== isIPv6(addresses[1]!);
}

export const isIPv6 = (address: string): boolean => address.includes(':');
