// The Scheme: the kinds with a typed descriptor, their codecs, and their conversions to other
// versions. Keyed by group, version and kind.

import { quote } from '#machinery/text/go-format.ts';
import { DescriptorCodec } from './codec/descriptor-codec.ts';
import type { ObjectCodec } from './codec/object-codec.ts';
import type { GroupVersionKind } from './descriptor.ts';
import type { SchemaSet } from './schema/schema-set.ts';

/** Sets the defaults of absent fields. The draft was just decoded and may be modified. */
export type Defaulter<T = Record<string, unknown>> = (draft: T) => void;

/**
 * Returns the object in another version. The original must not be modified; the Scheme sets
 * apiVersion and kind.
 */
export type Converter<From = Record<string, unknown>, To = Record<string, unknown>> = (
  object: From,
) => To;

/** The defaulters of a group and version, by kind. */
export type Defaulters = Readonly<Record<string, Defaulter<never>>>;

/**
 * The conversions of a kind, by the apiVersions from and to. A conversion leaves out apiVersion and
 * kind, and does not modify its object.
 */
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
  /** The kinds with a descriptor. */
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
      const kind = this.schemas.lookup(gvk);
      if (kind === undefined) return undefined;
      const { message, listMessage } = kind;
      codec = new DescriptorCodec({
        kind: kind.gvk,
        message,
        ...(listMessage !== undefined && { listMessage }),
        // Looked up for each object: a defaulter may be registered after the codec was created.
        applyDefaults: (draft) => this.#defaulters.get(key)?.(draft),
      });
      this.#codecs.set(key, codec);
    }
    return codec;
  }

  /** Registers the defaulter of a kind. A second one for the same kind is a programming error. */
  addDefaulter<T>(gvk: GroupVersionKind, defaulter: Defaulter<T>): void {
    this.#addOnce(this.#defaulters, keyOf(gvk), defaulter as Defaulter);
  }

  /** Registers the conversion of one direction. A second one is a programming error. */
  addConversion<From, To>(
    from: GroupVersionKind,
    to: GroupVersionKind,
    converter: Converter<From, To>,
  ): void {
    this.#addOnce(this.#conversions, `${keyOf(from)} ${keyOf(to)}`, converter as Converter);
  }

  /** Reports whether `convert` has a conversion. */
  canConvert(from: GroupVersionKind, to: GroupVersionKind): boolean {
    return keyOf(from) === keyOf(to) || this.#conversions.has(`${keyOf(from)} ${keyOf(to)}`);
  }

  /**
   * Returns the object as the kind of another version, with that apiVersion and kind; the object
   * itself if it is of that kind already. Throws SchemeError if there is no conversion. The object
   * is not modified.
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

/** Returns 'apps/v1', or 'v1' for the core group. */
export function apiVersionOf({
  group,
  version,
}: {
  readonly group: string;
  readonly version: string;
}): string {
  return group === '' ? version : `${group}/${version}`;
}

/** Returns upstream's message for a kind that is not registered. */
export function notRegistered(apiVersion: string, kind: string): string {
  const version = quote(apiVersion);
  return `no kind ${quote(kind)} is registered for version ${version} in scheme "pkg/runtime/scheme.go:111"`;
}

/** Parses an apiVersion; returns undefined if it is invalid. */
export function parseApiVersion(
  apiVersion: string,
): { group: string; version: string } | undefined {
  const parts = apiVersion.split('/');
  if (parts.length === 1 && parts[0] !== '') return { group: '', version: apiVersion };
  // As upstream, '/v1' is in the core group.
  if (parts.length === 2 && parts[1] !== '') return { group: parts[0]!, version: parts[1]! };
  return undefined;
}
