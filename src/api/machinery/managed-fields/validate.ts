// Checks that an applied value fits its type. It may be incomplete, but every field must be known
// and no list may contain an item twice: otherwise ownership would be ambiguous. The messages are
// upstream's.

import { formatValue, quote } from '#machinery/text/go-format.ts';
import { itemElement } from './list-items.ts';
import {
  shapeOf,
  type ListShape,
  type MapShape,
  type MergeType,
  type ScalarKind,
} from './merge-type.ts';
import { describePath, fieldElement, indexElement, type PathElement } from './path-element.ts';

/** The value does not fit. The message lists every problem with its path. */
export class TypedValueError extends Error {
  constructor(problems: readonly string[]) {
    super(
      problems.length === 1
        ? problems[0]
        : ['errors:', ...problems.map((problem) => `  ${problem}`)].join('\n'),
    );
    this.name = 'TypedValueError';
  }
}

/** Throws TypedValueError if the value does not fit the type. */
export function validateTyped(type: MergeType, value: unknown): void {
  const validation: Validation = { path: [], problems: [] };
  visit(validation, type, value);
  if (validation.problems.length > 0) throw new TypedValueError(validation.problems);
}

interface Validation {
  readonly path: PathElement[];
  readonly problems: string[];
}

function report({ path, problems }: Validation, problem: string): void {
  problems.push(path.length === 0 ? problem : `${describePath(path)}: ${problem}`);
}

function visit(validation: Validation, type: MergeType, value: unknown): void {
  switch (shapeOf(type, value)) {
    case 'scalar':
      return visitScalar(validation, type.scalar!, value);
    case 'list':
      return visitList(validation, type.list!, value);
    case 'map':
      return visitMap(validation, type.map!, value);
  }
}

function visitScalar(validation: Validation, kind: ScalarKind, value: unknown): void {
  if (value === null) return;
  switch (kind) {
    case 'numeric':
      if (typeof value !== 'number' && typeof value !== 'bigint')
        report(validation, `expected numeric (int or float), got ${goType(value)}`);
      return;
    case 'string':
      if (typeof value !== 'string') {
        report(
          validation,
          `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`,
        );
      }
      return;
    case 'boolean':
      if (typeof value !== 'boolean')
        report(validation, `expected boolean, got &{${formatValue(value)}}`);
      return;
    case 'untyped':
      if (typeof value === 'object')
        report(validation, `expected any scalar, got &{${formatValue(value)}}`);
      return;
  }
}

function visitList(validation: Validation, list: ListShape, value: unknown): void {
  if (value === null) return;
  if (!Array.isArray(value))
    return report(validation, `expected list, got &{${formatValue(value)}}`);
  const seen = new Set<PathElement>();
  for (const [index, item] of value.entries()) {
    let element = list.atomic ? indexElement(index) : itemElement(list, item);
    if (typeof element !== 'string')
      return report(validation, `element ${index}: ${element.problem}`);
    if (!list.atomic) {
      if (seen.has(element))
        report(validation, `duplicate entries for key ${describePath([element])}`);
      seen.add(element);
    }
    validation.path.push(element);
    visit(validation, list.items, item);
    validation.path.pop();
  }
}

function visitMap(validation: Validation, map: MapShape, value: unknown): void {
  if (value === null) return;
  if (typeof value !== 'object' || Array.isArray(value)) {
    return report(validation, `expected map, got &{${formatValue(value)}}`);
  }
  for (const [name, item] of Object.entries(value)) {
    const type = map.fields.get(name)?.type ?? map.values;
    validation.path.push(fieldElement(name));
    if (type === undefined) report(validation, 'field not declared in schema');
    else visit(validation, type, item);
    validation.path.pop();
  }
}

function goType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    default:
      return 'map[string]interface {}';
  }
}

/** Returns a JSON value as `%#v` prints it. */
function goSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (typeof value !== 'object') return String(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[string]interface {}{${entries.map(([key, item]) => `${quote(key)}:${goSyntax(item)}`).join(', ')}}`;
}
