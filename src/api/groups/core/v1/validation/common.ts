// Small rules that many kinds share. Messages, paths and error types throughout this folder are Kubernetes' own
// (pkg/apis/core/validation), oddities included; each function answers every problem that it finds.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Container, EphemeralContainer, PodSpec } from './types.ts';

export const MAX_INT32 = 2 ** 31 - 1;

/** Messages of a format check, as errors at a path. */
export function invalidEach(
  at: FieldPath,
  value: unknown,
  problems: readonly string[],
): FieldErrorList {
  return problems.map((problem) => field.invalid(at, value, problem));
}

/** The object as a whole, as Kubernetes writes it. */
export const WHOLE = new field.FieldPath('[]');

export function nonNegative(value: number | undefined, at: FieldPath): FieldErrorList {
  return value !== undefined && value < 0
    ? [field.invalid(at, value, validation.IS_NEGATIVE_MESSAGE)]
    : [];
}

/** A value of a closed set: missing is one error, unknown another. `known` is told in the order given. */
export function oneOf(
  value: string | undefined,
  known: readonly string[],
  at: FieldPath,
): FieldErrorList {
  if (value === undefined || value === '') return [field.required(at)];
  return known.includes(value) ? [] : [field.notSupported(at, value, known)];
}

/** As oneOf, but may be missing. */
export function optionalOneOf(
  value: string | undefined,
  known: readonly string[],
  at: FieldPath,
): FieldErrorList {
  return value === undefined || known.includes(value) ? [] : [field.notSupported(at, value, known)];
}

/** A port by number or by name. */
export function portNumberOrName(port: number | string, at: FieldPath): FieldErrorList {
  return invalidEach(
    at,
    port,
    typeof port === 'number' ? validation.isValidPortNum(port) : validation.isValidPortName(port),
  );
}

/** Something must be there; what it is nobody checks here. */
export function nonEmpty(value: string | undefined, at: FieldPath): FieldErrorList {
  return value === undefined || value === '' ? [field.required(at)] : [];
}

/** A path below a folder: relative, and never up. */
export function localDescendingPath(path: string, at: FieldPath): FieldErrorList {
  return [
    ...(path.startsWith('/') ? [field.invalid(at, path, 'must be a relative path')] : []),
    ...noBacksteps(path, at),
  ];
}

export function noBacksteps(path: string, at: FieldPath): FieldErrorList {
  return path.split('/').includes('..') ? [field.invalid(at, path, "must not contain '..'")] : [];
}

/** As localDescendingPath, and the first segment may not begin with two dots, which the atomic writer keeps for itself. */
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

/** Every container of a pod, with its path, in the order in which they start. `at`: the spec. */
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

/** What must not change between two versions of an object. */
export function immutable(
  value: unknown,
  old: unknown,
  at: FieldPath,
  equal: (a: unknown, b: unknown) => boolean,
): FieldErrorList {
  return equal(value, old) ? [] : [field.invalid(at, value ?? null, 'field is immutable')];
}

/** True if there are addresses of both families, one of each. */
export function isDualStack(addresses: readonly string[]): boolean {
  return (
    addresses.length === 2 && isIPv6(addresses[0] as string) !== isIPv6(addresses[1] as string)
  );
}

export const isIPv6 = (address: string): boolean => address.includes(':');
