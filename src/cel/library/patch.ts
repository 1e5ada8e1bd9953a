// The results of mutating policies: Object{…}, Object.spec{…} (an apply configuration whose types
// are named by their path), and JSONPatch{op: …, path: …, value: …}. The existing fields are not
// known here.

import { traversesFirst } from '../cost.ts';
import { global, type Library } from '../declarations.ts';
import { DYN, object, STRING, type ObjectType, type Type } from '../types.ts';
import { AbstractMap, isList, isMap, listItems, mapGet, mapKeys, type Value } from '../values.ts';

/** An object that an expression has created. */
export class ObjectValue extends AbstractMap {
  readonly #type: ObjectType;
  readonly #fields: ReadonlyMap<string, Value>;

  constructor(type: ObjectType, fields: ReadonlyMap<string, Value>) {
    super();
    this.#type = type;
    this.#fields = fields;
  }

  override get type(): Type {
    return this.#type;
  }

  get typeName(): string {
    return this.#type.name;
  }

  get size(): number {
    return this.#fields.size;
  }

  get(key: Value): Value {
    return typeof key === 'string' ? this.#fields.get(key) : undefined;
  }

  keys(): Iterable<Value> {
    return this.#fields.keys();
  }
}

const dynamicObject = (name: string): ObjectType => {
  const type: ObjectType = {
    kind: 'object',
    name,
    field: () => ({ type: DYN }),
    construct: (fields) => new ObjectValue(type, fields),
  };
  return type;
};

const jsonPatchFields = object('JSONPatch', { op: STRING, path: STRING, from: STRING, value: DYN });

/** An operation of a JSONPatch expression, whose result is a list of them. */
export const JSON_PATCH: ObjectType = {
  ...jsonPatchFields,
  construct: (fields) => new ObjectValue(JSON_PATCH, fields),
};

/** The result of an ApplyConfiguration expression. */
export const OBJECT: ObjectType = dynamicObject('Object');

/**
 * Returns the objects whose type does not match their path: Object.spec{…} must be the value of
 * field spec.
 */
export function misnamedObjects(value: Value, path = 'Object'): string[] {
  if (isList(value)) return listItems(value).flatMap((item) => misnamedObjects(item, path));
  if (!isMap(value)) return [];
  const named = value instanceof ObjectValue;
  const problems =
    named && value.typeName !== path
      ? [
          `unexpected type name "${value.typeName}", expected "${path}", ` +
            'which matches field name path from root Object type',
        ]
      : [];
  for (const key of mapKeys(value)) {
    problems.push(...misnamedObjects(mapGet(value, key), named ? `${path}.${String(key)}` : path));
  }
  return problems;
}

const escapeKey = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

export const patchLibrary: Library = {
  name: 'kubernetes.jsonpatch',
  functions: {
    'jsonpatch.escapeKey': [
      global('string_jsonpatch_escapeKey_string', [STRING], STRING, escapeKey, traversesFirst),
    ],
  },
  resolve(name) {
    if (name === 'JSONPatch') return JSON_PATCH;
    if (name === 'Object') return OBJECT;
    return name.startsWith('Object.') ? dynamicObject(name) : undefined;
  },
};
