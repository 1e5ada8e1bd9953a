// Renders one group and version's types.ts and index.ts from its schema.

import { allSchemas } from '#api/all-schemas.ts';
import { describeField, describeType } from '#api/machinery/openapi/index.ts';
import type {
  FieldSpec,
  GroupVersionSchema,
  MessageSpec,
  TypeSpec,
} from '#api/machinery/schema/builder.ts';
import { resourceType } from '#api/machinery/schema/resource-type.ts';

export interface GeneratedFile {
  /** The path relative to src/api. */
  readonly path: string;
  readonly text: string;
}

const scalarTypes: Readonly<Record<string, string>> = {
  string: 'string',
  bool: 'boolean',
  int32: 'number',
  int64: 'number',
  uint8: 'number',
  uint32: 'number',
  uint64: 'number',
  double: 'number',
  bytes: 'string',
  quantity: 'string',
  time: 'string',
  microTime: 'string',
  duration: 'string',
  intOrString: 'number | string',
  rawExtension: 'Record<string, unknown>',
  fieldsV1: 'Record<string, unknown>',
  json: 'unknown',
};

/** Scalars that are structs in Go: they are written even when they are zero, as null. */
const nullableStructs = new Set(['time', 'microTime', 'rawExtension']);
const zeroStructs = new Set(['quantity', 'intOrString', 'duration']);

const groups = new Set(allSchemas.schemas.map(({ key }) => key));

/**
 * Returns the folder of a schema, below src/api/: groups that every group uses are in machinery,
 * kinds of configuration files in config.
 */
export function folderOf(key: string): string {
  if (key.startsWith('meta/')) return `machinery/${key}`;
  return `${groups.has(key) ? 'groups' : 'config'}/${key}`;
}

export function render(
  schema: GroupVersionSchema,
  all: readonly GroupVersionSchema[],
  hasHelpers: boolean,
): GeneratedFile[] {
  return [
    { path: `${folderOf(schema.key)}/types.ts`, text: new TypesRenderer(schema, all).render() },
    { path: `${folderOf(schema.key)}/index.ts`, text: renderIndex(schema, hasHelpers) },
  ];
}

class TypesRenderer {
  readonly #schema: GroupVersionSchema;
  readonly #all: readonly GroupVersionSchema[];
  /** Import names by schema key. */
  readonly #imports = new Map<string, string>();

  constructor(schema: GroupVersionSchema, all: readonly GroupVersionSchema[]) {
    this.#schema = schema;
    this.#all = all;
  }

  render(): string {
    const body = Object.entries(this.#schema.types)
      .map(([name, spec]) => this.#type(name, spec))
      .join('\n');
    const imports = [...this.#imports]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, name]) => `import type * as ${name} from '#api/${folderOf(key)}/types.ts';\n`)
      .join('');
    return (
      `// Generated from schema.ts by \`npm run generate\`. Do not edit.\n\n` +
      `${imports}${imports === '' ? '' : '\n'}${body}`
    );
  }

  #type(name: string, spec: TypeSpec): string {
    return (
      docstring(describeType(`${this.#schema.key}.${name}`), '') + this.#declaration(name, spec)
    );
  }

  #declaration(name: string, spec: TypeSpec): string {
    if ('fields' in spec) return this.#interface(name, spec);
    if ('either' in spec)
      return `export type ${name} = ${this.#reference(spec.either)} | ${this.#reference(spec.or)};\n`;
    if (spec.values === undefined) return `export type ${name} = ${this.#reference(spec.alias)};\n`;
    const literals = spec.values.map((value) => `'${value}'`);
    return `export type ${name} = ${[...literals, ...(spec.closed ? [] : ['(string & {})'])].join(' | ')};\n`;
  }

  #interface(name: string, spec: MessageSpec): string {
    const parents = spec.kind ? [this.#reference('meta/v1.TypeMeta')] : [];
    const lines: string[] = [];
    for (const item of spec.fields()) {
      if ('inline' in item) parents.push(this.#reference(item.inline));
      else
        lines.push(
          docstring(this.#description(name, item, spec.kind === true), '  ') + this.#field(item),
        );
    }
    const heritage = parents.length === 0 ? '' : ` extends ${parents.join(', ')}`;
    if (lines.length === 0) {
      return parents.length === 0
        ? `export type ${name} = Record<string, never>;\n`
        : `export interface ${name}${heritage} {}\n`;
    }
    return `export interface ${name}${heritage} {\n${lines.join('')}}\n`;
  }

  #description(type: string, { name }: FieldSpec, isKind: boolean): string | undefined {
    return describeField(`${this.#schema.key}.${type}`, name.replace('?', ''), isKind);
  }

  #field(spec: FieldSpec): string {
    const omitEmpty = spec.name.endsWith('?');
    const rawName = omitEmpty ? spec.name.slice(0, -1) : spec.name;
    const name = /^[A-Za-z_$][\w$]*$/.test(rawName) ? rawName : `'${rawName}'`;
    const pointer = spec.type.startsWith('*');
    const type = this.#reference(spec.type);
    const options = spec.options ?? {};
    const struct = !pointer && this.#isStruct(spec.type) && options.omitZero !== true;
    const present = options.always === true || !omitEmpty || struct;
    const required =
      options.nullable !== true &&
      (options.required === true ||
        (!omitEmpty && options.optional !== true) ||
        options.always === true);
    const orNull = present && !required && this.#zeroIsNull(spec.type) ? ' | null' : '';
    return `  ${name}${present ? '' : '?'}: ${type}${orNull};\n`;
  }

  /** Returns whether the type's zero value is written even under omitempty. */
  #isStruct(type: string): boolean {
    return nullableStructs.has(type) || zeroStructs.has(type) || this.#isMessage(type);
  }

  #zeroIsNull(type: string): boolean {
    return (
      type.startsWith('*') ||
      type.startsWith('[]') ||
      type.startsWith('{}') ||
      nullableStructs.has(type)
    );
  }

  #isMessage(type: string): boolean {
    if (
      type.startsWith('[]') ||
      type.startsWith('{}') ||
      type.startsWith('*') ||
      type in scalarTypes
    )
      return false;
    const spec = this.#spec(type);
    if ('alias' in spec && spec.values === undefined) return this.#isMessage(spec.alias);
    return 'fields' in spec || 'either' in spec;
  }

  #spec(type: string): TypeSpec {
    const dot = type.lastIndexOf('.');
    const home =
      dot === -1 ? this.#schema : this.#all.find((schema) => schema.key === type.slice(0, dot));
    const spec = home?.types[type.slice(dot + 1)];
    if (spec === undefined)
      throw new Error(`${this.#schema.key} refers to ${type}, which no schema has`);
    return spec;
  }

  #reference(type: string): string {
    if (type.startsWith('*')) return this.#reference(type.slice(1));
    if (type.startsWith('[]')) {
      const items = this.#reference(type.slice(2));
      return items.includes(' ') && !items.endsWith('>') ? `(${items})[]` : `${items}[]`;
    }
    if (type.startsWith('{}')) return `Record<string, ${this.#reference(type.slice(2))}>`;
    const scalar = scalarTypes[type];
    if (scalar !== undefined) return scalar;
    this.#spec(type);
    const dot = type.lastIndexOf('.');
    if (dot === -1 || type.slice(0, dot) === this.#schema.key) return type.slice(dot + 1);
    const key = type.slice(0, dot);
    const importName = key
      .replace(/\/v1$/, '')
      .replace(/\/(.)/, (_, letter: string) => letter.toUpperCase());
    this.#imports.set(key, importName);
    return `${importName}.${type.slice(dot + 1)}`;
  }
}

/** Returns a comment of lines with at most 120 characters; '' for no text. */
function docstring(description: string | undefined, indent: string): string {
  if (description === undefined) return '';
  const text = description.replaceAll('*/', '*\\/');
  const line = `${indent}/** ${text} */\n`;
  if (line.length <= MAX_LINE) return line;
  const lines: string[] = [];
  let current = `${indent} *`;
  for (const word of text.split(' ')) {
    if (current.length + word.length >= MAX_LINE) {
      lines.push(current);
      current = `${indent} *`;
    }
    current += ` ${word}`;
  }
  return `${indent}/**\n${[...lines, current].join('\n')}\n${indent} */\n`;
}

const MAX_LINE = 120;

function renderIndex(schema: GroupVersionSchema, hasHelpers: boolean): string {
  const kinds = Object.entries(schema.types).filter(
    ([, spec]) => 'fields' in spec && spec.resource !== undefined,
  );
  let text = '// Generated from schema.ts by `npm run generate`. Do not edit.\n\n';
  if (kinds.length > 0) {
    text +=
      "import type { ResourceType } from '#api/machinery/descriptor.ts';\nimport type * as " +
      "types from './types.ts';\n\n";
  }
  text += `export type * from './types.ts';\n`;
  if (hasHelpers) text += `export type * from './helpers.ts';\n`;
  if (kinds.length > 0) text += '\n';
  for (const [kind] of kinds) {
    const type = resourceType(schema, kind);
    const literal = JSON.stringify(type, null, 2)
      .replaceAll('"', "'")
      .replace(/'(\w+)':/g, '$1:');
    text += `export const ${constantName(kind, type.resource)}: ResourceType<types.${kind}> = ${literal};\n\n`;
  }
  return text;
}

/**
 * Returns the constant's name: 'ReplicaSet', 'replicasets' → 'replicaSets'; 'NetworkPolicy' →
 * 'networkPolicies'; 'CSIDriver' → 'csiDrivers'.
 */
export function constantName(kind: string, plural: string): string {
  const lower = kind.replace(/^([A-Z]+)(?=[A-Z][a-z])|^[A-Z]+/, (start) => start.toLowerCase());
  let common = 0;
  while (common < lower.length && lower[common]?.toLowerCase() === plural[common]) common++;
  // A resource that is not named after its kind (metrics' nodes) gets a constant that is.
  return common === 0 || plural.length < lower.length
    ? lower
    : lower.slice(0, common) + plural.slice(common);
}
