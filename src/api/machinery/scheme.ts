// The Scheme: which kinds have a typed descriptor, and what can be done with an object of one: its codec, its conversion to other
// versions. Keyed by group, version and kind.

import { DescriptorCodec } from './codec/descriptor-codec.ts';
import type { ObjectCodec } from './codec/object-codec.ts';
import type { GroupVersionKind } from './descriptor.ts';
import type { SchemaSet } from './schema/schema-set.ts';

/** Fills in what an object leaves out. The draft is fresh from the decoder, and may be changed. */
export type Defaulter<T = Record<string, unknown>> = (draft: T) => void;

/** Makes another version's object of one that must not be changed; apiVersion and kind are set by the Scheme. */
export type Converter<From = Record<string, unknown>, To = Record<string, unknown>> = (
  object: From,
) => To;

/** The defaulters of a group and version, by kind. */
export type Defaulters = Readonly<Record<string, Defaulter<never>>>;

/** The conversions of a kind, by apiVersion from and apiVersion to. Each leaves out apiVersion and kind, and does not change its object. */
export type Conversions = Readonly<
  Record<string, Readonly<Record<string, Converter<never, object>>>>
>;

class SchemeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SchemeError';
  }
}

export class Scheme {
  /** The kinds that have a descriptor. */
  readonly schemas: SchemaSet;
  readonly #codecs = new Map<string, ObjectCodec>();
  readonly #defaulters = new Map<string, Defaulter>();
  readonly #conversions = new Map<string, Converter>();

  constructor(schemas: SchemaSet) {
    this.schemas = schemas;
  }

  /** Returns the codec of a kind; undefined if no schema has the kind. */
  codecOf(gvk: GroupVersionKind): ObjectCodec | undefined {
    const key = keyOf(gvk);
    let codec = this.#codecs.get(key);
    if (codec === undefined) {
      const known = this.schemas.lookup(gvk);
      if (known === undefined) return undefined;
      const { message, listMessage } = known;
      codec = new DescriptorCodec({
        kind: known.gvk,
        message,
        ...(listMessage !== undefined && { listMessage }),
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

  /** One per direction; a second one is a programmer error. */
  addConversion<From, To>(
    from: GroupVersionKind,
    to: GroupVersionKind,
    converter: Converter<From, To>,
  ): void {
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
  convert<T = Record<string, unknown>>(
    object: object,
    from: GroupVersionKind,
    to: GroupVersionKind,
  ): T {
    if (keyOf(from) === keyOf(to)) return object as T;
    const converter = this.#conversions.get(`${keyOf(from)} ${keyOf(to)}`);
    if (converter === undefined)
      throw new SchemeError(`converting ${describe(from)} to ${describe(to)}: unknown conversion`);
    return {
      kind: to.kind,
      apiVersion: apiVersionOf(to),
      ...converter(object as Record<string, unknown>),
    } as T;
  }

  #addOnce<V>(map: Map<string, V>, key: string, value: V): void {
    if (map.has(key)) throw new Error(`registered twice: ${key}`);
    map.set(key, value);
  }
}

function keyOf({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`;
}

function describe({ group, version, kind }: GroupVersionKind): string {
  return `${apiVersionOf({ group, version })}, Kind=${kind}`;
}

/** 'apps/v1', or 'v1' for the core group. */
export function apiVersionOf({
  group,
  version,
}: {
  readonly group: string;
  readonly version: string;
}): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The group and version that an apiVersion names; undefined if it names none. */
export function parseApiVersion(
  apiVersion: string,
): { group: string; version: string } | undefined {
  const parts = apiVersion.split('/');
  if (parts.length === 1 && parts[0] !== '') return { group: '', version: apiVersion };
  if (parts.length === 2 && parts[0] !== '' && parts[1] !== '')
    return { group: parts[0] as string, version: parts[1] as string };
  return undefined;
}
