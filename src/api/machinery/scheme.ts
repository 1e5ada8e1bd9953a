// The Scheme: which kinds have a typed descriptor, and what can be done with an object of one: its codec, its conversion to other
// versions, its field selectors. Keyed by group, version and kind.

import { DescriptorCodec } from './codec/descriptor-codec.ts';
import type { ObjectCodec } from './codec/object-codec.ts';
import type { GroupVersionKind, MessageDescriptor, ResourceType } from './descriptor.ts';
import type { GroupVersionSchema } from './schema/builder.ts';
import { everywhereKinds, messageDescriptor, ungroupedKinds } from './schema/compile.ts';
import { resourceType } from './schema/resource-type.ts';

export interface KnownType {
  readonly gvk: GroupVersionKind;
  readonly message: MessageDescriptor;
  /** Absent: the kind has no path of its own (lists, options, reviews inside others). */
  readonly resource?: ResourceType;
  /** The kind of its lists, if there is one. */
  readonly listKind?: string;
}

/** Fills in what an object leaves out. The draft is fresh from the decoder, and may be changed. */
export type Defaulter<T = Record<string, unknown>> = (draft: T) => void;

/** Makes another version's object of one that must not be changed; apiVersion and kind are set by the Scheme. */
export type Converter<From = Record<string, unknown>, To = Record<string, unknown>> = (object: From) => To;

/** What a field selector's label and value mean, or undefined if the kind has no such label. */
export type FieldLabelConverter = (label: string, value: string) => readonly [label: string, value: string] | undefined;

export class SchemeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SchemeError';
  }
}

export class Scheme {
  readonly #types = new Map<string, KnownType>();
  readonly #codecs = new Map<string, ObjectCodec>();
  readonly #schemas = new Map<string, GroupVersionSchema>();
  readonly #defaulters = new Map<string, Defaulter>();
  readonly #conversions = new Map<string, Converter>();
  readonly #fieldLabels = new Map<string, FieldLabelConverter>();

  /** Every kind of a group and version. What is known of a kind is put together when it is first asked for. */
  addSchema(schema: GroupVersionSchema): void {
    this.#schemas.set(`${schema.group}/${schema.version}`, schema);
  }

  lookup(gvk: GroupVersionKind): KnownType | undefined {
    const key = keyOf(gvk);
    const known = this.#types.get(key);
    if (known !== undefined) return known;
    const schema = this.#schemas.get(`${gvk.group}/${gvk.version}`);
    const type = schema === undefined ? undefined : fromSchema(schema, gvk);
    if (type !== undefined) this.#types.set(key, type);
    return type;
  }

  /** Returns the codec of a kind; undefined if no schema has the kind. */
  codecOf(gvk: GroupVersionKind): ObjectCodec | undefined {
    const key = keyOf(gvk);
    let codec = this.#codecs.get(key);
    if (codec === undefined) {
      const known = this.lookup(gvk);
      if (known === undefined) return undefined;
      const { group, version } = gvk;
      const list = known.listKind === undefined ? undefined : this.lookup({ group, version, kind: known.listKind });
      codec = new DescriptorCodec({
        kind: { group, version, kind: gvk.kind },
        message: known.message,
        ...(list !== undefined && { listMessage: list.message }),
        // Looked up for each object: a defaulter may be registered after the codec was made.
        applyDefaults: (draft) => this.#defaulters.get(key)?.(draft),
      });
      this.#codecs.set(key, codec);
    }
    return codec;
  }

  /** One per kind; a second one for the same kind is a programmer error. */
  addDefaulter<T>(gvk: GroupVersionKind, defaulter: Defaulter<T>): void {
    this.#addOnce(this.#defaulters, keyOf(gvk), defaulter as Defaulter);
  }

  /** Fills in the defaults of the draft's kind, in the draft. */
  applyDefaults(gvk: GroupVersionKind, draft: object): void {
    this.#defaulters.get(keyOf(gvk))?.(draft as Record<string, unknown>);
  }

  /** One per direction; a second one is a programmer error. */
  addConversion<From, To>(from: GroupVersionKind, to: GroupVersionKind, converter: Converter<From, To>): void {
    this.#addOnce(this.#conversions, `${keyOf(from)} ${keyOf(to)}`, converter as Converter);
  }

  /** Whether `convert` can. */
  canConvert(from: GroupVersionKind, to: GroupVersionKind): boolean {
    return keyOf(from) === keyOf(to) || this.#conversions.has(`${keyOf(from)} ${keyOf(to)}`);
  }

  /**
   * The object as another version's kind, its apiVersion and kind with it; the very object if it is of that kind already.
   * Throws SchemeError if there is no conversion. The object itself is not changed.
   */
  convert<T = Record<string, unknown>>(object: object, from: GroupVersionKind, to: GroupVersionKind): T {
    if (keyOf(from) === keyOf(to)) return object as T;
    const converter = this.#conversions.get(`${keyOf(from)} ${keyOf(to)}`);
    if (converter === undefined) throw new SchemeError(`converting ${describe(from)} to ${describe(to)}: unknown conversion`);
    return { kind: to.kind, apiVersion: apiVersionOf(to), ...converter(object as Record<string, unknown>) } as T;
  }

  addFieldLabelConversion(gvk: GroupVersionKind, converter: FieldLabelConverter): void {
    this.#addOnce(this.#fieldLabels, keyOf(gvk), converter);
  }

  /** What a field selector's label means. Every kind has metadata.name and metadata.namespace. Throws SchemeError otherwise. */
  convertFieldLabel(gvk: GroupVersionKind, label: string, value: string): readonly [label: string, value: string] {
    const converted = this.#fieldLabels.get(keyOf(gvk))?.(label, value);
    if (converted !== undefined) return converted;
    if (label === 'metadata.name' || label === 'metadata.namespace') return [label, value];
    if (this.#fieldLabels.has(keyOf(gvk))) throw new SchemeError(`field label not supported: ${label}`);
    throw new SchemeError(`"${label}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
  }

  #addOnce<V>(map: Map<string, V>, key: string, value: V): void {
    if (map.has(key)) throw new Error(`registered twice: ${key}`);
    map.set(key, value);
  }
}

function fromSchema(schema: GroupVersionSchema, gvk: GroupVersionKind): KnownType | undefined {
  const { kind } = gvk;
  if (everywhereKinds.has(kind) || (schema.key === 'core/v1' && ungroupedKinds.has(kind))) {
    return { gvk, message: messageDescriptor(`meta/v1.${kind}`) };
  }
  const spec = Object.hasOwn(schema.types, kind) ? schema.types[kind] : undefined;
  if (spec === undefined || !('fields' in spec) || !spec.kind) return undefined;
  return {
    gvk,
    message: messageDescriptor(`${schema.key}.${kind}`),
    ...(spec.resource === undefined ? {} : { resource: resourceType(schema, kind) }),
    ...(`${kind}List` in schema.types ? { listKind: `${kind}List` } : {}),
  };
}

function keyOf({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`;
}

function describe({ group, version, kind }: GroupVersionKind): string {
  return `${apiVersionOf({ group, version })}, Kind=${kind}`;
}

/** 'apps/v1', or 'v1' for the core group. */
export function apiVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The group and version that an apiVersion names; undefined if it names none. */
export function parseApiVersion(apiVersion: string): { group: string; version: string } | undefined {
  const parts = apiVersion.split('/');
  if (parts.length === 1 && parts[0] !== '') return { group: '', version: apiVersion };
  if (parts.length === 2 && parts[0] !== '' && parts[1] !== '') return { group: parts[0] as string, version: parts[1] as string };
  return undefined;
}
