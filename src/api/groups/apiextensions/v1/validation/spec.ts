// Validation of the spec of a definition. The order of the errors is upstream's.

import type { Steps } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { validateConversion } from './conversion.ts';
import type { Spec } from './definition.ts';
import { internalForm } from './internal-form.ts';
import { validateLabel, validateNames, validateRequiredNames } from './names.ts';
import type { Options } from './ratchets.ts';
import { schemaOf, someSchema } from './schema-walk.ts';
import { shownVersions } from './shown-values.ts';
import { validateCommonFields, validateVersion } from './versions.ts';

const SPEC = field.path('spec');
const VERSIONS = SPEC.child('versions');
const VERSIONS_PER_STEP = 100;
const SCOPES = ['Cluster', 'Namespaced'];

export function* validateSpec(spec: Spec, options: Options): Steps<FieldErrorList> {
  const { names, conversion, preserveUnknownFields = false } = spec;
  const errors: FieldErrorList = [
    ...validateGroup(spec.group),
    ...validateScope(spec.scope),
    ...validateSchemasThere(spec, options),
  ];
  yield;
  const hasDefaults = someSchema(spec, (schema) => (schema.default ?? undefined) !== undefined);
  if (hasDefaults && preserveUnknownFields) {
    const detail = 'must be false in order to use defaults in the schema';
    errors.push(field.invalid(SPEC.child('preserveUnknownFields'), true, detail));
  }
  const needsStructure = !preserveUnknownFields || hasDefaults || someSchema(spec, hasExtensions);
  const effective = needsStructure ? { ...options, allowNonStructural: false } : options;
  yield;
  const { common, versions } = internalForm(spec);
  yield;
  const status = statusOfVersions(spec);
  for (const [index, version] of versions.entries()) {
    const at = VERSIONS.index(index);
    errors.push(...validateLabel(version.name, at.child('name')));
    errors.push(
      ...(yield* validateVersion(version, status.get(version.name) === true, effective, at)),
    );
    if (index % VERSIONS_PER_STEP === 0) yield;
  }
  const unique = new Set(versions.map(({ name }) => name));
  if (unique.size < versions.length) {
    errors.push(
      field.invalid(VERSIONS, shownVersions(versions), 'must contain unique version names'),
    );
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    errors.push(
      field.invalid(
        VERSIONS,
        shownVersions(versions),
        'must have exactly one version marked as storage version',
      ),
    );
  }
  const [first] = versions;
  if (first !== undefined && first.name !== '')
    errors.push(...validateLabel(first.name, SPEC.child('version')));
  errors.push(
    ...validateRequiredNames(names, SPEC.child('names')),
    ...validateNames(names, SPEC.child('names')),
  );
  errors.push(...(yield* validateCommonFields(common, spec, effective, SPEC)));
  if (conversion !== undefined && conversion.strategy !== 'None' && preserveUnknownFields) {
    const detail = 'must be None if spec.preserveUnknownFields is true';
    errors.push(
      field.invalid(SPEC.child('conversion').child('strategy'), conversion.strategy, detail),
    );
  }
  errors.push(...validateConversion(conversion, options, SPEC.child('conversion')));
  return errors;
}

/**
 * Returns the versions with a status subresource; for several versions with one name, the first
 * counts.
 */
function statusOfVersions({ versions }: Spec): ReadonlyMap<string, boolean> {
  return new Map(
    versions
      .toReversed()
      .map(({ name, subresources }) => [name, subresources?.status !== undefined]),
  );
}

function validateGroup(group: string): FieldErrorList {
  const at = SPEC.child('group');
  if (group === '') return [field.required(at)];
  const problems = validation.isDNS1123Subdomain(group);
  if (problems.length > 0) return [field.invalid(at, group, problems.join(','))];
  return group.includes('.')
    ? []
    : [field.invalid(at, group, 'should be a domain with at least one dot')];
}

function validateScope(scope: string): FieldErrorList {
  const at = SPEC.child('scope');
  if (scope === '') return [field.required(at)];
  return SCOPES.includes(scope) ? [] : [field.notSupported(at, scope, SCOPES)];
}

/** Validates that all versions have schemas, or at least the served ones. */
function validateSchemasThere(spec: Spec, { allowMissingSchemas }: Options): FieldErrorList {
  if (internalForm(spec).common.schema?.openAPIV3Schema !== undefined) return [];
  const { preserveUnknownFields = false } = spec;
  if (allowMissingSchemas && preserveUnknownFields) return [];
  return spec.versions.flatMap((version, index) => {
    if (schemaOf(version) !== undefined || (allowMissingSchemas && !version.served)) return [];
    const at = VERSIONS.index(index).child('schema', 'openAPIV3Schema');
    return [
      field.required(at, allowMissingSchemas ? 'because otherwise all fields are pruned' : ''),
    ];
  });
}

function hasExtensions(schema: object): boolean {
  const source = schema as Readonly<Record<string, unknown>>;
  return (
    source['x-kubernetes-embedded-resource'] === true ||
    source['x-kubernetes-preserve-unknown-fields'] !== undefined ||
    source['x-kubernetes-int-or-string'] === true ||
    isNotEmpty(source['x-kubernetes-list-map-keys']) ||
    source['x-kubernetes-list-type'] !== undefined ||
    isNotEmpty(source['x-kubernetes-validations'])
  );
}

function isNotEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}
