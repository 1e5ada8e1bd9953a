// Rules that are not enforced for an update if the old definition violates them, so that
// definitions from older servers stay usable.

import {
  structuralSchema,
  type StructuralSchema,
  UnsupportedSchemaError,
} from '#api/machinery/codec/structural/structural-schema.ts';
import type { JSONSchemaProps } from '#api/machinery/codec/structural/json-schema-props.ts';
import { validateDefaults } from '#api/machinery/codec/structural/validate-defaults.ts';
import {
  hasGranularSet,
  hasNullableItems,
  hasUnknownType,
} from '#api/machinery/codec/structural/validate-keywords.ts';
import { validateStructural } from '#api/machinery/codec/structural/validate-structural.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { Steps } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import { caBundleProblem } from '../ca-bundle.ts';
import { isConditionTrue } from '../conditions.ts';
import { hasRecognizedReviewVersion } from './conversion.ts';
import type { Definition, Version } from './definition.ts';
import { internalForm } from './internal-form.ts';
import { MAX_SELECTABLE_FIELDS } from './selectable-fields.ts';
import { schemaOf, someSchema } from './schema-walk.ts';

export interface Options {
  /** Versions may lack a schema. */
  readonly allowMissingSchemas: boolean;
  /** Schemas need not be structural. */
  readonly allowNonStructural: boolean;
  readonly allowUnknownTypes: boolean;
  readonly allowGranularSets: boolean;
  readonly allowNullableItems: boolean;
  readonly allowUnknownFieldsInDefaults: boolean;
  /**
   * The conversion webhook need not support a version of ConversionReview that this server
   * supports.
   */
  readonly allowUnrecognizedReviewVersions: boolean;
  readonly allowInvalidCABundle: boolean;
  /**
   * Reports whether the schema of a version is unchanged: its rules may cost more than new ones.
   */
  isUnchanged(version: string): boolean;
  /** Reports whether a version ('': the common fields) may have too many selectable fields. */
  allowsManySelectableFields(version: string): boolean;
}

/** The options of a new definition. It is not established yet, so its CA bundle may be missing. */
export const STRICT: Options = {
  allowMissingSchemas: false,
  allowNonStructural: false,
  allowUnknownTypes: false,
  allowGranularSets: false,
  allowNullableItems: false,
  allowUnknownFieldsInDefaults: false,
  allowUnrecognizedReviewVersions: false,
  allowInvalidCABundle: true,
  isUnchanged: () => false,
  allowsManySelectableFields: () => false,
};

/** Returns the options that do not depend on the old schemas. */
export function strictForUpdate(old: Definition): Options {
  const oldWebhook = old.spec.conversion?.webhook;
  return {
    ...STRICT,
    allowUnrecognizedReviewVersions: !hasRecognizedReviewVersion(
      oldWebhook?.conversionReviewVersions ?? [],
    ),
    allowInvalidCABundle:
      !isConditionTrue(old.status, 'Established') ||
      caBundleProblem(oldWebhook?.clientConfig?.caBundle) !== undefined,
  };
}

/**
 * Returns the rules that an update may violate because the definition did before. Takes long if the
 * schemas are large.
 */
export function* ratchetsOf(definition: Definition, old: Definition): Steps<Options> {
  const { spec } = old;
  const allowUnknownTypes = someSchema(spec, hasUnknownType);
  const allowGranularSets = someSchema(spec, hasGranularSet);
  const allowNullableItems = someSchema(spec, hasNullableItems);
  yield;
  let allowNonStructural = false;
  let allowUnknownFieldsInDefaults = false;
  for (const version of spec.versions) {
    const source = schemaOf(version);
    if (source === undefined) continue;
    const schema = structuralIfValid(source);
    yield;
    if (schema === undefined) allowNonStructural = true;
    else allowUnknownFieldsInDefaults ||= hasUnknownFieldsInDefaults(schema);
    yield;
  }
  const unchanged = unchangedVersions(definition, old);
  const many = versionsWithManySelectableFields(definition, old);
  return {
    ...strictForUpdate(old),
    allowMissingSchemas: spec.versions.some((version) => schemaOf(version) === undefined),
    allowNonStructural,
    allowUnknownTypes,
    allowGranularSets,
    allowNullableItems,
    allowUnknownFieldsInDefaults,
    isUnchanged: (version) => unchanged.has(version),
    allowsManySelectableFields: (version) => many.has(version),
  };
}

function structuralIfValid(source: JSONSchemaProps): StructuralSchema | undefined {
  try {
    const schema = structuralSchema(source);
    return field.bounded(() => validateStructural(schema, field.path(''))).length === 0
      ? schema
      : undefined;
  } catch (error) {
    if (error instanceof UnsupportedSchemaError) return undefined;
    throw error;
  }
}

function hasUnknownFieldsInDefaults(schema: StructuralSchema): boolean {
  const strict = field.bounded(() => validateDefaults(schema, field.path('')));
  return strict.length > field.bounded(() => validateDefaults(schema, field.path(''), true)).length;
}

function unchangedVersions(definition: Definition, old: Definition): ReadonlySet<string> {
  const before = internalForm(old.spec);
  const own = new Map(before.versions.toReversed().map(({ name, schema }) => [name, schema]));
  const hasOwn = before.versions.some(({ schema }) => schema !== undefined);
  const isUnchanged = ({ name, schema }: Version): boolean => {
    // If all old versions share one schema, a new version is compared with it, too.
    if (!hasOwn)
      return (
        (own.has(name) || before.common.schema !== undefined) &&
        semanticEqual(schema, before.common.schema)
      );
    return own.has(name) && semanticEqual(schema, own.get(name));
  };
  return new Set(definition.spec.versions.filter(isUnchanged).map(({ name }) => name));
}

function versionsWithManySelectableFields(
  definition: Definition,
  old: Definition,
): ReadonlySet<string> {
  const [now, before] = [internalForm(definition.spec), internalForm(old.spec)];
  const names = new Set<string>();
  const compare = (
    name: string,
    fields: Version['selectableFields'],
    oldFields: Version['selectableFields'],
  ): void => {
    if ((oldFields?.length ?? 0) > MAX_SELECTABLE_FIELDS && semanticEqual(fields, oldFields))
      names.add(name);
  };
  compare('', now.common.selectableFields, before.common.selectableFields);
  const fieldsBefore = new Map(
    before.versions.map(({ name, selectableFields }) => [name, selectableFields]),
  );
  for (const { name, selectableFields } of now.versions)
    compare(name, selectableFields, fieldsBefore.get(name));
  return names;
}
