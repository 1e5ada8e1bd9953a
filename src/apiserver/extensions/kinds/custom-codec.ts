// The codec of a custom kind: a name and a function that reads its schema. The StructuralCodec with
// the compiled schema is in the SchemaPool, and is compiled again if it was evicted.

import type { ObjectType } from '#cel/index.ts';
import type { Decoded } from '#api/machinery/codec/decode.ts';
import type { DecodeOptions, ObjectCodec, OpenApiType } from '#api/machinery/codec/object-codec.ts';
import { type RuleTimes, StructuralCodec } from '#api/machinery/codec/structural/index.ts';
import type { JSONSchemaProps } from '#api/machinery/codec/structural/json-schema-props.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { MergeType } from '#api/machinery/managed-fields/index.ts';
import type { SchemaPool } from './schema-pool.ts';

export interface CustomCodecConfig {
  readonly kind: GroupVersionKind;
  readonly listKind: string;
  readonly plural: string;
  /** The names of selectable fields, such as 'spec.color'. */
  readonly selectableFields: readonly string[];
  /**
   * Returns the schema; undefined: objects may have any field. Called whenever the schema has to be
   * compiled.
   */
  readonly schemaOf: () => JSONSchemaProps | undefined;
  /** Returns the approximate length of the schema's text. */
  readonly bytesOf: () => number;
  readonly pool: SchemaPool;
  readonly ruleTimes?: RuleTimes;
}

export class CustomCodec implements ObjectCodec {
  readonly keepsBigints = true;
  readonly kind: GroupVersionKind;
  readonly isUntyped = true;
  readonly openApi: OpenApiType;
  readonly openApiList: OpenApiType;
  readonly #config: CustomCodecConfig;

  constructor(config: CustomCodecConfig) {
    this.#config = config;
    this.kind = config.kind;
    const prefix = `${config.kind.group.split('.').toReversed().join('.')}.${config.kind.version}.`;
    this.openApi = {
      name: prefix + config.kind.kind,
      define: (definitions) => this.structural.openApi.define(definitions),
    };
    this.openApiList = {
      name: prefix + config.listKind,
      define: (definitions) => this.structural.openApiList.define(definitions),
    };
  }

  /** The codec with the compiled schema. Callers must not keep it. */
  get structural(): StructuralCodec {
    const { pool, bytesOf } = this.#config;
    return pool.codecOf(this, bytesOf, () => this.#makeStructural());
  }

  get mergeType(): MergeType {
    return this.structural.mergeType;
  }

  get celType(): ObjectType {
    return this.structural.celType;
  }

  wireForm<T extends object>(object: T): T {
    return object;
  }

  storedForm<T extends object>(object: T): T {
    return object;
  }

  emptyObject(): Record<string, unknown> {
    return { metadata: {} };
  }

  decode(json: unknown, options?: DecodeOptions): Decoded {
    return this.structural.decode(json, options);
  }

  applyDefaults(draft: Record<string, unknown>): void {
    this.structural.applyDefaults(draft);
  }

  #makeStructural(): StructuralCodec {
    const { kind, listKind, plural, selectableFields, schemaOf, ruleTimes } = this.#config;
    const schema = schemaOf();
    const custom = { ...kind, listKind, plural, selectableFields, ruleTimes };
    return new StructuralCodec({ ...custom, ...(schema !== undefined && { schema }) });
  }
}
