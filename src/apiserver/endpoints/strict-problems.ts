// The messages for fields that a body has twice, or that its kind does not have.

import { findDuplicateFields } from '#api/machinery/codec/index.ts';
import { quote } from '#machinery/text/go-format.ts';
import { countKeys } from '#machinery/text/json.ts';
import type { FieldValidation } from './query-options.ts';

interface ParsedKeys {
  /** The text, if it is JSON, and the number of its keys. */
  readonly text?: string;
  readonly keys?: number;
  /** The YAML reader's message for duplicate keys. */
  readonly duplicates?: string;
}

interface StrictOptions {
  /** Whether the kind is a custom resource. */
  readonly isUntyped: boolean;
  readonly fieldValidation: FieldValidation;
}

/**
 * Returns the messages for unknown and duplicate fields in upstream's order. JSON: that of the text;
 * but a custom resource's duplicates come first, since they are found before its schema is known.
 * YAML: duplicates, then unknown fields by name, since it becomes JSON with sorted keys.
 */
export function strictProblems(
  { keys, text, duplicates }: ParsedKeys,
  value: unknown,
  unknownFields: readonly string[],
  { isUntyped, fieldValidation }: StrictOptions,
): readonly string[] {
  const unknown = (path: string): string => `unknown field ${quote(path)}`;
  const duplicate = (path: string): string => `duplicate field ${quote(path)}`;
  if (text === undefined || keys === undefined || keys <= countKeys(value)) {
    if (duplicates === undefined) return unknownFields.map(unknown);
    const sorted = isUntyped ? unknownFields : [...unknownFields].sort();
    return [...yamlProblems(duplicates, fieldValidation), ...sorted.map(unknown)];
  }
  if (isUntyped)
    return [...findDuplicateFields(text).map(duplicate), ...unknownFields.map(unknown)];
  const ordered = findDuplicateFields(text, unknownFields);
  return [
    ...ordered.map((path) => (unknownFields.includes(path) ? unknown(path) : duplicate(path))),
    ...unknownFields.filter((path) => !ordered.includes(path)).map(unknown),
  ];
}

/** Returns the messages for duplicate keys. A warning is one line without the heading. */
export function yamlProblems(message: string, fieldValidation: FieldValidation): readonly string[] {
  if (fieldValidation === 'Strict') return [message];
  return message.split('\n').flatMap((line) => (/^ {2}line/.test(line) ? [line.trim()] : []));
}
