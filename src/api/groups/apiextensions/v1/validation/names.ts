// Validation of the names of a kind: the requested names, and the accepted ones.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Names } from './definition.ts';

/** Validates the required names in a spec. */
export function validateRequiredNames(names: Names, at: FieldPath): FieldErrorList {
  return (['plural', 'singular', 'kind', 'listKind'] as const)
    .filter((name) => (names[name] ?? '') === '')
    .map((name) => field.required(at.child(name)));
}

/** Validates names, some of which may be missing. */
export function validateNames(names: Names, at: FieldPath): FieldErrorList {
  const { plural, singular = '', kind, listKind = '', shortNames, categories } = names;
  const errors: FieldErrorList = [
    ...validateName(plural, at.child('plural')),
    ...validateName(singular, at.child('singular')),
    ...validateKind(kind, at.child('kind')),
    ...validateKind(listKind, at.child('listKind')),
  ];
  shortNames?.forEach((name, index) =>
    errors.push(...validateLabel(name, at.child('shortNames').index(index))),
  );
  if (kind !== '' && kind === listKind) {
    errors.push(
      field.invalid(at.child('listKind'), listKind, 'kind and listKind may not be the same'),
    );
  }
  categories?.forEach((name, index) =>
    errors.push(...validateLabel(name, at.child('categories').index(index))),
  );
  return errors;
}

/** Validates a DNS-1035 label. All problems form one error. */
export function validateLabel(name: string, at: FieldPath): FieldErrorList {
  const problems = validation.isDNS1035Label(name);
  return problems.length === 0 ? [] : [field.invalid(at, name, problems.join(','))];
}

function validateName(name: string, at: FieldPath): FieldErrorList {
  return name === '' ? [] : validateLabel(name, at);
}

function validateKind(kind: string, at: FieldPath): FieldErrorList {
  if (kind === '') return [];
  const problems = validation.isDNS1035Label(kind.toLowerCase());
  if (problems.length === 0) return [];
  return [
    field.invalid(
      at,
      kind,
      `may have mixed case, but should otherwise match: ${problems.join(',')}`,
    ),
  ];
}
