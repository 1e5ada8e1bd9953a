// The codec of a custom kind: everything about its objects that follows from its schema, which is
// compiled on first use.

import type { ObjectType } from '#cel/index.ts';
import type { JSONSchemaProps } from './json-schema-props.ts';
import { deepCopy, isPlainObject, setOwn } from '#machinery/deep.ts';
import { runSteps, type Steps } from '#machinery/turn.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import type { GroupVersionKind } from '../../descriptor.ts';
import type { MergeType } from '../../managed-fields/index.ts';
import { DecodeError, jsonKind } from '../decode-error.ts';
import type { Decoded } from '../decode.ts';
import type { DecodeOptions, ObjectCodec } from '../object-codec.ts';
import { celTypeOf } from './cel-type.ts';
import { Correlation } from './correlation.ts';
import { compileDefaults, withPrunedDefaults } from './defaults.ts';
import { validateEmbedded } from './embedded.ts';
import { validateLists } from './lists.ts';
import { mergeTypeOfSchema } from './merge-type.ts';
import { type DecodedMetadata, decodeMetadata, decodeStoredMetadata } from './object-meta.ts';
import {
  definitionName,
  publishedKind,
  type PublishedKind,
  publishedList,
  type PublishedType,
} from './openapi.ts';
import { ReadContext } from './read-context.ts';
import { type Read, readerOf } from './reader.ts';
import { checkRules } from './rules/check.ts';
import { type RuleNode, ruleNodeOf } from './rules/rule-node.ts';
import type { RuleTimes } from './rules/times.ts';
import { sortedKeys } from './sorted.ts';
import { structuralSchema, type StructuralSchema } from './structural-schema.ts';
import { runValidator } from './validate-value.ts';
import { ValueValidator } from './values.ts';

/** A custom kind in one version. */
export interface CustomKind extends PublishedKind {
  /** A structural schema. Absent: objects may have any field. */
  readonly schema?: JSONSchemaProps;
  /** Measures the rules of the schema. Default: no measurement. */
  readonly ruleTimes?: RuleTimes;
}

/** The schema of objects without a schema: everything is kept. */
const ANYTHING: JSONSchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

interface Compiled {
  readonly schema: StructuralSchema;
  readonly read: Read;
  readonly applyDefaults: (value: unknown) => void;
  readonly validator: ValueValidator;
  /** Undefined: the schema has no rules. */
  readonly rules: RuleNode | undefined;
}

type Body = Readonly<Record<string, unknown>>;

export interface ObjectValidation {
  /**
   * Errors that the caller has found in the object: some of them prevent the evaluation of rules.
   */
  readonly prior?: FieldErrorList;
  /**
   * Called with a message for each rule that an update violates without an error, because the value
   * did not change.
   */
  readonly warn?: (message: string) => void;
}

export class StructuralCodec implements ObjectCodec {
  readonly kind: GroupVersionKind;
  readonly keepsBigints = true;
  readonly openApi: PublishedType;
  readonly openApiList: PublishedType;
  readonly #custom: CustomKind;
  #compiled: Compiled | undefined;
  #statusValidator: ValueValidator | undefined;
  #mergeType: MergeType | undefined;
  #celType: ObjectType | undefined;

  constructor(custom: CustomKind) {
    const { group, version, kind } = custom;
    this.kind = { group, version, kind };
    this.#custom = custom;
    this.openApi = publishedKind(custom, () =>
      custom.schema === undefined ? undefined : this.schema,
    );
    this.openApiList = publishedList(custom, this.openApi);
  }

  /** The schema of the objects, with the defaults that are applied. */
  get schema(): StructuralSchema {
    return this.#compile().schema;
  }

  get mergeType(): MergeType {
    this.#mergeType ??= mergeTypeOfSchema(
      this.#custom.schema === undefined ? undefined : this.schema,
    );
    return this.#mergeType;
  }

  /**
   * The type of the objects in policies. Their own rules see less of the metadata: see celSchema.
   */
  get celType(): ObjectType {
    this.#celType ??= celTypeOf(definitionName(this.#custom, this.kind.kind), this.schema);
    return this.#celType;
  }

  /** Returns the object itself: custom resources are JSON, in which an empty list is a value. */
  wireForm<T extends object>(object: T): T {
    return object;
  }

  storedForm<T extends object>(object: T): T {
    return object;
  }

  emptyObject(): Record<string, unknown> {
    return { metadata: {} };
  }

  /**
   * Decodes an object: see ObjectCodec. Nulls that are not allowed are dropped, too, unless they are
   * kept; values of a wrong type are left to validation.
   */
  decode(json: unknown, options: DecodeOptions = {}): Decoded {
    if (!isPlainObject(json)) {
      throw new DecodeError(
        `json: cannot unmarshal ${jsonKind(json)} into Go value of type map[string]interface {}`,
        '',
      );
    }
    const context = new ReadContext(undefined, options);
    const resource = readResourceFields(
      json,
      options.isStored === true ? decodeStoredMetadata : decodeMetadata,
    );
    const rest = this.#compile().read(resource.rest, context) as Record<string, unknown>;
    const object: Record<string, unknown> = {};
    const fields = { ...rest, ...resource.fields };
    for (const name of sortedKeys(fields)) setOwn(object, name, fields[name]);
    const metadata = resource.unknownFields.map((name) => `metadata.${name}`);
    return {
      object,
      unknownFields: [...metadata, ...context.pruned.sort(), ...context.inMetadata.sort()],
    };
  }

  applyDefaults(draft: Record<string, unknown>): void {
    this.#compile().applyDefaults(draft);
  }

  /**
   * Returns the errors of a new object, except for its own metadata: first those of the schema's
   * keywords, then those of its rules.
   */
  validate(object: Body, options: ObjectValidation = {}): FieldErrorList {
    return runSteps(this.validateInSteps(object, options));
  }

  /**
   * Returns the errors of an update. Violations of the old object remain allowed in unchanged
   * values.
   */
  validateUpdate(object: Body, old: Body, options: ObjectValidation = {}): FieldErrorList {
    return runSteps(this.validateUpdateInSteps(object, old, options));
  }

  /**
   * Returns the errors of a status update: the schema's keywords are checked for the status only,
   * and embedded resources are not checked. The rules of the whole object are evaluated.
   */
  validateStatusUpdate(object: Body, old: Body, options: ObjectValidation = {}): FieldErrorList {
    return runSteps(this.validateStatusUpdateInSteps(object, old, options));
  }

  /**
   * Does the same as validate in steps of some milliseconds. Evaluating rules may take a second in
   * all.
   */
  *validateInSteps(object: Body, options: ObjectValidation = {}): Steps<FieldErrorList> {
    const { schema, validator, rules } = this.#compile();
    const errors = [
      ...runValidator(validator, object),
      ...validateEmbedded(schema, object),
      ...validateLists(schema, object),
    ];
    const ofRules = yield* checkRules(rules, { value: object }, [
      ...(options.prior ?? []),
      ...errors,
    ]);
    return [...errors, ...ofRules];
  }

  *validateUpdateInSteps(
    object: Body,
    old: Body,
    options: ObjectValidation = {},
  ): Steps<FieldErrorList> {
    const { schema, validator, rules } = this.#compile();
    const correlation = new Correlation(object, old, schema);
    const errors = [
      ...runValidator(validator, object, undefined, correlation),
      ...validateEmbedded(schema, object),
      ...this.#validateUpdatedLists(object, old),
    ];
    const { prior = [], warn } = options;
    const ofRules = yield* checkRules(rules, { value: object, old, correlation, warn }, [
      ...prior,
      ...errors,
    ]);
    return [...errors, ...ofRules];
  }

  *validateStatusUpdateInSteps(
    object: Body,
    old: Body,
    options: ObjectValidation = {},
  ): Steps<FieldErrorList> {
    const { schema, rules } = this.#compile();
    const status = schema.properties.get('status');
    const correlation = new Correlation(object, old, schema);
    const errors: FieldErrorList = [];
    if (status !== undefined && Object.hasOwn(object, 'status')) {
      this.#statusValidator ??= new ValueValidator(status.source, { ofObjects: true });
      errors.push(
        ...runValidator(
          this.#statusValidator,
          object['status'],
          field.path('status'),
          correlation.field('status'),
        ),
      );
    }
    errors.push(...this.#validateUpdatedLists(object, old));
    const { prior = [], warn } = options;
    const ofRules = yield* checkRules(rules, { value: object, old, correlation, warn }, [
      ...prior,
      ...errors,
    ]);
    return [...errors, ...ofRules];
  }

  /**
   * Validates lists with unique items. They have ratcheting as a whole: if one was invalid before,
   * all of them may stay invalid.
   */
  #validateUpdatedLists(object: Body, old: Body): FieldErrorList {
    const { schema } = this.#compile();
    return validateLists(schema, old).length > 0 ? [] : validateLists(schema, object);
  }

  #compile(): Compiled {
    if (this.#compiled === undefined) {
      const schema = withPrunedDefaults(
        structuralSchema(deepCopy(this.#custom.schema ?? ANYTHING)),
      );
      this.#compiled = {
        schema,
        read: readerOf(schema),
        applyDefaults: compileDefaults(schema),
        validator: new ValueValidator(schema.source, { ofObjects: true }),
        rules: ruleNodeOf(schema, true, this.#custom.ruleTimes),
      };
    }
    return this.#compiled;
  }
}

interface ResourceFields {
  /** apiVersion, kind and metadata, if present. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly rest: Readonly<Record<string, unknown>>;
  /** Paths inside of the metadata. */
  readonly unknownFields: readonly string[];
}

/** Decodes the fields of every object. Throws DecodeError. */
function readResourceFields(
  json: Readonly<Record<string, unknown>>,
  decode: (metadata: unknown) => DecodedMetadata,
): ResourceFields {
  const { apiVersion, kind, metadata, ...rest } = json;
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries({ apiVersion, kind })) {
    if (value === undefined) continue;
    if (typeof value !== 'string') {
      throw new DecodeError(
        `json: cannot unmarshal ${jsonKind(value)} into Go struct field .${name} of type string`,
        name,
      );
    }
    fields[name] = value;
  }
  if (metadata === undefined) return { fields, rest, unknownFields: [] };
  try {
    const decoded = decode(metadata);
    fields['metadata'] = decoded.metadata;
    return { fields, rest, unknownFields: decoded.unknownFields };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new DecodeError(error.message, error.path === '' ? 'metadata' : `metadata.${error.path}`);
  }
}
