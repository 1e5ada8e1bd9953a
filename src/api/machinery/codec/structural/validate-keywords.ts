// The rules for schemas in definitions beyond those of structural schemas: unsupported keywords,
// and extensions that must fit the type and each other. Upstream has them in
// apiextensions-apiserver, pkg/apis/apiextensions/validation.

import type { JSONSchemaProps } from './json-schema-props.ts';
import type { Steps } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { shownItems } from './shown-schema.ts';
import { isSchema } from './structural-schema.ts';
import { Pace } from './pace.ts';
import { RESOURCE_FIELDS } from './reader.ts';
import type { CompiledRules } from './rules/precompiled.ts';
import { RuleScope } from './rules/scope.ts';
import { validateExpressions, validateRuleFields } from './rules/validate-rules.ts';

export interface KeywordOptions extends Ratchets {
  /**
   * Compile rules (x-kubernetes-validations), which requires a structural schema. Default: true.
   */
  readonly compilesRules?: boolean;
  /**
   * The unchanged schema was accepted before: single rules may cost more than new ones. Default:
   * false.
   */
  readonly isUnchanged?: boolean;
  /** Rules that were compiled before: see compileRulesOf. */
  readonly compiledRules?: CompiledRules;
}

/** Rules that are not enforced, because the old definition violates them. Default: none. */
export interface Ratchets {
  /** Types may be any text. */
  readonly allowUnknownTypes?: boolean;
  /** Items of sets may be granular objects and lists. */
  readonly allowGranularSets?: boolean;
  /** Items of sets and of lists with keys may be null, and keys may be missing. */
  readonly allowNullableItems?: boolean;
}

/** The position of a node. */
interface Place {
  readonly isRoot: boolean;
  /** The node is in the metadata (or type) of a resource. */
  readonly insideMeta: boolean;
  /** The reason why no default is allowed here; undefined: it is allowed. */
  readonly forbidsDefaults: string | undefined;
  /** The enclosing list whose items have no old values; undefined: there is none. */
  readonly uncorrelatable: FieldPath | undefined;
  /** Undefined: rules are not compiled here. */
  readonly rules: RuleScope | undefined;
}

const ROOT: Place = {
  isRoot: true,
  insideMeta: false,
  forbidsDefaults: undefined,
  uncorrelatable: undefined,
  rules: undefined,
};
const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const LIST_TYPES = ['atomic', 'set', 'map'];
const MAP_TYPES = ['atomic', 'granular'];

/** Validates a schema and everything in it, in steps. Errors of rules' expressions come last. */
export function* validateKeywords(
  source: JSONSchemaProps,
  at: FieldPath,
  options: KeywordOptions = {},
): Steps<FieldErrorList> {
  const errors: FieldErrorList = [];
  const rules = options.compilesRules === false ? undefined : RuleScope.root(source);
  const validator = new KeywordValidator(options, errors);
  yield* validator.validate(source, at, { ...ROOT, rules });
  return [...errors, ...validator.ofExpressions, ...(rules?.total.errors(at) ?? [])];
}

class KeywordValidator {
  readonly #options: KeywordOptions;
  readonly #errors: FieldErrorList;
  readonly ofExpressions: FieldErrorList = [];
  readonly #pace = new Pace();

  constructor(options: KeywordOptions, errors: FieldErrorList) {
    this.#options = options;
    this.#errors = errors;
  }

  *validate(source: JSONSchemaProps, at: FieldPath, place: Place): Steps<void> {
    if (this.#pace.isStepOver) yield;
    const before = this.#errors.length;
    this.#errors.push(...validateSupported(source, at, place, this.#options));
    if (source.uniqueItems === true) {
      const detail =
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
      this.#errors.push(field.forbidden(at.child('uniqueItems'), detail));
    }
    yield* this.#validateChildren(source, at, { ...place, isRoot: false }, place.isRoot);
    this.#errors.push(
      ...validateExtensions(source, at, this.#options),
      ...validateListKeys(source, at),
    );
    if (this.#options.allowNullableItems !== true)
      this.#errors.push(...validateUniqueItems(source, at));
    this.#errors.push(...validateRuleFields(source, at));
    // Errors of the schema would cause misleading errors of expressions.
    if (place.rules === undefined || this.#errors.length > before) return;
    const { isUnchanged = false, compiledRules } = this.#options;
    const context = {
      scope: place.rules,
      uncorrelatable: place.uncorrelatable,
      isUnchanged,
      compiled: compiledRules?.find,
    };
    this.ofExpressions.push(...validateExpressions(source, at, context));
  }

  *#validateChildren(
    source: JSONSchemaProps,
    at: FieldPath,
    inside: Place,
    isRoot: boolean,
  ): Steps<void> {
    const { additionalProperties } = source;
    if (additionalProperties !== undefined && additionalProperties !== null) {
      if (Object.keys(source.properties ?? {}).length > 0 && additionalProperties !== true) {
        const detail = 'additionalProperties and properties are mutual exclusive';
        this.#errors.push(field.forbidden(at.child('additionalProperties'), detail));
      }
      if (isSchema(additionalProperties)) {
        const reason = inside.insideMeta
          ? 'inside additionalProperties applying to object metadata'
          : inside.forbidsDefaults;
        const rules = inside.rules?.child(additionalProperties);
        yield* this.validate(additionalProperties, at.child('additionalProperties'), {
          ...inside,
          forbidsDefaults: reason,
          rules,
        });
      }
    }
    const isResource = isRoot || source['x-kubernetes-embedded-resource'] === true;
    for (const [name, property] of Object.entries(source.properties ?? {})) {
      const isMeta = isResource && RESOURCE_FIELDS.has(name);
      yield* this.validate(property, at.child('properties').key(name), {
        ...inside,
        insideMeta: inside.insideMeta || isMeta,
        forbidsDefaults: isRoot && isMeta ? `in top-level ${name}` : inside.forbidsDefaults,
        rules: inside.rules?.child(property),
      });
    }
    const nested: Place = { ...inside, rules: undefined };
    if (isSchema(source.not)) yield* this.validate(source.not, at.child('not'), nested);
    for (const junctor of ['allOf', 'oneOf', 'anyOf'] as const) {
      for (const [index, part] of (source[junctor] ?? []).entries()) {
        yield* this.validate(part, at.child(junctor).index(index), nested);
      }
    }
    for (const [name, part] of Object.entries(source.definitions ?? {})) {
      yield* this.validate(part, at.child('definitions').key(name), nested);
    }
    const uncorrelatable =
      source['x-kubernetes-list-type'] === 'map'
        ? inside.uncorrelatable
        : (inside.uncorrelatable ?? at);
    if (isSchema(source.items)) {
      yield* this.validate(source.items, at.child('items'), {
        ...inside,
        uncorrelatable,
        rules: inside.rules?.child(source.items),
      });
    } else if (Array.isArray(source.items)) {
      for (const [index, part] of source.items.entries()) {
        yield* this.validate(part, at.child('items').index(index), { ...nested, uncorrelatable });
      }
    }
    for (const [name, part] of Object.entries(source.dependencies ?? {})) {
      if (isSchema(part)) yield* this.validate(part, at.child('dependencies').key(name), nested);
    }
  }
}

function validateSupported(
  source: JSONSchemaProps,
  at: FieldPath,
  place: Place,
  ratchets: Ratchets,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const type = source.type ?? '';
  const forbid = (keyword: string, detail = `${keyword} is not supported`): void => {
    errors.push(field.forbidden(at.child(keyword), detail));
  };
  if (type !== '' && !TYPES.includes(type) && ratchets.allowUnknownTypes !== true) {
    errors.push(field.notSupported(at.child('type'), type, TYPES));
  }
  if (isGiven(source.default) && place.forbidsDefaults !== undefined)
    forbid('default', `must not be set ${place.forbidsDefaults}`);
  if ((source.id ?? '') !== '') forbid('id');
  if (isGiven(source.additionalItems)) forbid('additionalItems');
  if (Object.keys(source.patternProperties ?? {}).length > 0) forbid('patternProperties');
  if (Object.keys(source.definitions ?? {}).length > 0) forbid('definitions');
  if (isGiven(source.dependencies)) forbid('dependencies');
  if (isGiven(source.$ref)) forbid('$ref');
  if (type === 'null') forbid('type', 'type cannot be set to null, use nullable as an alternative');
  if (Array.isArray(source.items) && source.items.length > 0)
    forbid('items', 'items must be a schema object and not an array');
  if (place.insideMeta && source['x-kubernetes-embedded-resource'] === true) {
    forbid('x-kubernetes-embedded-resource', 'must not be used inside of resource meta');
  }
  return errors;
}

/** Validates extensions that require a type. */
function validateExtensions(
  source: JSONSchemaProps,
  at: FieldPath,
  ratchets: Ratchets,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (source['x-kubernetes-preserve-unknown-fields'] === false) {
    errors.push(
      field.invalid(
        at.child('x-kubernetes-preserve-unknown-fields'),
        false,
        'must be true or undefined',
      ),
    );
  }
  errors.push(
    ...validateKindOf(source, at, 'x-kubernetes-map-type', 'object', MAP_TYPES, ratchets),
    ...validateKindOf(source, at, 'x-kubernetes-list-type', 'array', LIST_TYPES, ratchets),
  );
  return errors;
}

function validateKindOf(
  source: JSONSchemaProps,
  at: FieldPath,
  keyword: 'x-kubernetes-map-type' | 'x-kubernetes-list-type',
  type: string,
  known: readonly string[],
  ratchets: Ratchets,
): FieldErrorList {
  const value = source[keyword];
  if (!isGiven(value)) return [];
  const errors: FieldErrorList = [];
  const actualType = source.type ?? '';
  if (actualType !== type) {
    const detail = `must be ${type} if ${keyword} is specified`;
    errors.push(
      actualType === ''
        ? field.required(at.child('type'), detail)
        : field.invalid(at.child('type'), actualType, detail),
    );
  } else if (value === 'set' && isSchema(source.items) && ratchets.allowGranularSets !== true)
    errors.push(...validateSetItems(source.items, at.child('items')));
  if (!known.includes(value)) errors.push(field.notSupported(at.child(keyword), value, known));
  return errors;
}

/** Validates the items of a set, which are compared as a whole. */
function validateSetItems(items: JSONSchemaProps, at: FieldPath): FieldErrorList {
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const listType = items['x-kubernetes-list-type'];
  if (items.type === 'array' && isGiven(listType) && listType !== 'atomic') {
    return [field.invalid(at.child('x-kubernetes-list-type'), listType, detail)];
  }
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    // Upstream shows the other extension here.
    return [field.invalid(at.child('x-kubernetes-map-type'), listType ?? null, detail)];
  }
  return [];
}

function validateListKeys(source: JSONSchemaProps, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const listType = source['x-kubernetes-list-type'];
  const keys = source['x-kubernetes-list-map-keys'] ?? [];
  const here = at.child('x-kubernetes-list-map-keys');
  if (keys.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
    const type = at.child('x-kubernetes-list-type');
    errors.push(
      isGiven(listType) ? field.invalid(type, listType, detail) : field.required(type, detail),
    );
  }
  if (listType !== 'map') return errors;
  if (keys.length === 0)
    errors.push(field.required(here, 'must not be empty if x-kubernetes-list-type is map'));
  const { items } = source;
  if (!isGiven(items)) {
    errors.push(
      field.required(at.child('items'), 'must have a schema if x-kubernetes-list-type is map'),
    );
    return errors;
  }
  if (!isSchema(items)) {
    errors.push(
      field.invalid(
        at.child('items'),
        shownItems(items),
        'must only have a single schema if x-kubernetes-list-type is map',
      ),
    );
    return errors;
  }
  if (items.type !== 'object') {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    errors.push(field.invalid(at.child('items').child('type'), items.type ?? '', detail));
    return errors;
  }
  keys.forEach((key, index) => {
    const property = Object.hasOwn(items.properties ?? {}, key)
      ? items.properties?.[key]
      : undefined;
    if (property === undefined)
      errors.push(field.invalid(here, keys, 'entries must all be names of item properties'));
    else if (property.type === 'array' || property.type === 'object') {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      // Upstream shows the type of the item, not that of the key.
      errors.push(
        field.invalid(
          at.child('items').child('properties').key(key).child('type'),
          items.type,
          detail,
        ),
      );
    }
    if (keys.indexOf(key) < index)
      errors.push(field.invalid(here, keys, 'must not contain duplicate entries'));
  });
  return errors;
}

/**
 * Validates items of sets and of lists with keys: they must not be null and must have their keys.
 */
function validateUniqueItems(source: JSONSchemaProps, at: FieldPath): FieldErrorList {
  const listType = source['x-kubernetes-list-type'];
  const { items } = source;
  if (!isSchema(items) || (listType !== 'set' && listType !== 'map')) return [];
  const errors: FieldErrorList = [];
  if (items.nullable === true) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    errors.push(field.forbidden(at.child('items').child('nullable'), detail));
  }
  if (listType === 'set') return errors;
  for (const key of source['x-kubernetes-list-map-keys'] ?? []) {
    const property = Object.hasOwn(items.properties ?? {}, key)
      ? items.properties?.[key]
      : undefined;
    if (property === undefined) continue;
    const here = at.child('items').child('properties').key(key);
    if (!(items.required ?? []).includes(key) && !isGiven(property.default)) {
      const detail =
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
      errors.push(field.required(here.child('default'), detail));
    }
    if (property.nullable === true) {
      const detail = 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable';
      errors.push(field.forbidden(here.child('nullable'), detail));
    }
  }
  return errors;
}

function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

/** Reports whether the type of the node (not of nested ones) is unknown. */
export function hasUnknownType({ type = '' }: JSONSchemaProps): boolean {
  return type !== '' && !TYPES.includes(type);
}

/** Reports whether the node is a set with items that are not compared as a whole. */
export function hasGranularSet(source: JSONSchemaProps): boolean {
  if (source['x-kubernetes-list-type'] !== 'set' || !isSchema(source.items)) return false;
  return validateSetItems(source.items, field.path('')).length > 0;
}

/** Reports whether the node is a list whose items could be null, or lack a key. */
export function hasNullableItems(source: JSONSchemaProps): boolean {
  return validateUniqueItems(source, field.path('')).length > 0;
}
