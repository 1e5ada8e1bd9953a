// Helpers for the tests of this folder: types in one line each, sets as paths, and a history of
// writes to one object.

import { runWaitingSteps, type WaitingSteps } from '#machinery/turn.ts';
import { parseYaml } from '../codec/yaml.ts';
import { FieldSet, type Path } from './field-set.ts';
import { managerId, noManagers, type Managers, type Operation } from './managers.ts';
import type { ListShape, MapShape, MergeField, MergeType } from './merge-type.ts';
import { fieldElement, keyElement, valueElement } from './path-element.ts';
import { validateTyped } from './validate.ts';
import { applyManagers, updateManagers, type Merging, type Versions } from './updater.ts';

export const string: MergeType = { scalar: 'string' };
export const number: MergeType = { scalar: 'numeric' };
export const bool: MergeType = { scalar: 'boolean' };
export const any: MergeType = { scalar: 'untyped' };

export function struct(
  fields: Readonly<Record<string, MergeType>>,
  options: Partial<Pick<MapShape, 'atomic'>> = {},
): MergeType {
  return { map: { atomic: false, values: undefined, fields: mergeFields(fields), ...options } };
}

/** Returns a type that refers to itself. */
export function recursive(
  fields: (self: MergeType) => Readonly<Record<string, MergeType>>,
): MergeType {
  let known: ReadonlyMap<string, MergeField> | undefined;
  const type: MergeType = {
    map: {
      atomic: false,
      values: undefined,
      get fields() {
        return (known ??= mergeFields(fields(type)));
      },
    },
  };
  return type;
}

function mergeFields(fields: Readonly<Record<string, MergeType>>): ReadonlyMap<string, MergeField> {
  return new Map(
    Object.entries(fields).map(([name, type]) => [
      name,
      { element: fieldElement(name), type, keyDefault: undefined },
    ]),
  );
}

export function map(values: MergeType, options: Partial<Pick<MapShape, 'atomic'>> = {}): MergeType {
  return { map: { atomic: false, values, fields: new Map(), ...options } };
}

export function atomicList(items: MergeType): MergeType {
  return { list: { atomic: true, keys: [], items } };
}

export function setOf(items: MergeType): MergeType {
  return { list: { atomic: false, keys: [], items } };
}

/** Returns a list with keys. `defaults`: of keys that may be left out. */
export function keyed(
  keys: readonly string[],
  items: MergeType,
  defaults: Readonly<Record<string, unknown>> = {},
): MergeType {
  const { map: shape } = items as { map: MapShape };
  const fields = new Map(
    [...shape.fields].map(
      ([name, field]) => [name, { ...field, keyDefault: defaults[name] }] as const,
    ),
  );
  return {
    list: { atomic: false, keys, items: { map: { ...shape, fields } } } satisfies ListShape,
  };
}

/**
 * A step of a path: a field's name, the keys of an item, or `{ '=': value }` for the item of a set.
 */
export type Step = string | Readonly<Record<string, unknown>>;

export function path(...steps: readonly Step[]): Path {
  return steps.map((step) => {
    if (typeof step === 'string') return fieldElement(step);
    return Object.hasOwn(step, '=') ? valueElement(step['=']) : keyElement(Object.entries(step));
  });
}

export function set(...paths: readonly (readonly Step[])[]): FieldSet {
  return FieldSet.of(...paths.map((steps) => path(...steps)));
}

export interface Write {
  readonly manager: string;
  /** YAML. */
  readonly object: string;
  readonly version?: string;
}

/** Runs steps whose conversions are synchronous. */
function atOnce<T>(steps: WaitingSteps<T>): T {
  const result = runWaitingSteps(steps);
  if (result instanceof Promise) throw new Error('a conversion was asynchronous');
  return result;
}

/** One object and its owners through a history of writes. */
export class History {
  object: unknown = {};
  managers: Managers = noManagers;
  readonly #merging: Omit<Merging, 'apiVersion'>;

  constructor(type: MergeType | Versions, reset: FieldSet = FieldSet.empty) {
    const versions: Versions =
      'typeOf' in type
        ? type
        : {
            typeOf: (version) => (version === 'v1' ? type : undefined),
            convert: (values) => values,
          };
    this.#merging = { versions, reset };
  }

  /** Applies a configuration. Throws ConflictsError. */
  apply({ manager, object, version = 'v1' }: Write, force = false): this {
    const config = parseYaml(object) ?? {};
    validateTyped(this.#merging.versions.typeOf(version)!, config);
    const owner = { manager, operation: 'Apply', apiVersion: version, subresource: '' } as const;
    const applied = atOnce(
      applyManagers({ ...this.#merging, apiVersion: version }, this.object, config, this.managers, {
        id: managerId(owner),
        manager: { ...owner, time: undefined, fields: FieldSet.empty },
        force,
      }),
    );
    this.object = applied.object;
    const entry = applied.managers.get(managerId(owner));
    const managers = new Map(applied.managers);
    if (entry?.fields.isEmpty === true) managers.delete(managerId(owner));
    this.managers = managers;
    return this;
  }

  forceApply(write: Write): this {
    return this.apply(write, true);
  }

  update({ manager, object, version = 'v1' }: Write): this {
    const updated = parseYaml(object) ?? {};
    const merging = { ...this.#merging, apiVersion: version };
    const { managers, changed } = atOnce(
      updateManagers(merging, this.object, updated, this.managers),
    );
    const owner = { manager, operation: 'Update', apiVersion: version, subresource: '' } as const;
    const id = managerId(owner);
    const result = new Map(managers);
    const fields = (managers.get(id)?.fields ?? FieldSet.empty).union(changed);
    if (!fields.isEmpty) result.set(id, { ...owner, time: undefined, fields });
    this.managers = result;
    this.object = updated;
    return this;
  }

  /** Returns the owned fields by 'Apply name' or 'Update name', each set as text. */
  owners(): Record<string, string> {
    const owners: Record<string, string> = {};
    for (const { manager, operation, fields } of this.managers.values())
      owners[`${operation} ${manager}`] = fields.toString();
    return owners;
  }
}

/** Returns the expected result of `owners`, from sets. */
export function expectedOwners(
  sets: Readonly<Record<`${Operation} ${string}`, FieldSet>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(sets).map(([owner, fields]) => [owner, fields.toString()]),
  );
}
