// Validation of a version, and of the fields common to all versions: schema, subresources, columns
// and selectable fields.

import { validateSchemaInSteps } from '#api/machinery/codec/structural/validate-schema.ts';
import type { Steps } from '#machinery/turn.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateColumns } from './columns.ts';
import type { Spec, Version } from './definition.ts';
import { validateDeprecationWarning } from './deprecation.ts';
import type { CommonFields } from './internal-form.ts';
import type { Options } from './ratchets.ts';
import { schemaOf } from './schema-walk.ts';
import { validateSelectableFields } from './selectable-fields.ts';
import { validateSubresources } from './subresources.ts';

/**
 * Validates a version. `version`: in the internal form. `statusEnabled`: the version has the status
 * subresource.
 */
export function* validateVersion(
  version: Version,
  statusEnabled: boolean,
  options: Options,
  at: FieldPath,
): Steps<FieldErrorList> {
  const { name, subresources, additionalPrinterColumns: columns, selectableFields } = version;
  const errors = validateDeprecationWarning(version, at.child('deprecationWarning'));
  errors.push(
    ...(yield* validateSchemaOf(version, { name, statusEnabled }, options, at.child('schema'))),
  );
  errors.push(...validateSubresources(subresources, at.child('subresources')));
  errors.push(...validateColumns(columns, at.child('additionalPrinterColumns')));
  const missing = 'may only be set when `version.schema.openAPIV3Schema` is not included';
  const allowMany = options.allowsManySelectableFields(name);
  errors.push(
    ...validateSelectableFields(selectableFields, schemaOf(version), { at, missing, allowMany }),
  );
  return errors;
}

/** Validates the fields common to all versions. */
export function* validateCommonFields(
  common: CommonFields,
  spec: Spec,
  options: Options,
  at: FieldPath,
): Steps<FieldErrorList> {
  const { subresources, additionalPrinterColumns: columns, selectableFields } = common;
  const statusEnabled = spec.versions.some((version) => version.subresources?.status !== undefined);
  const name = spec.versions[0]?.name ?? '';
  const errors = yield* validateSchemaOf(
    common,
    { name, statusEnabled },
    options,
    at.child('validation'),
  );
  errors.push(...validateSubresources(subresources, at.child('subresources')));
  errors.push(...validateColumns(columns, at.child('additionalPrinterColumns')));
  const missing = 'may only be set when validations.schema is included';
  const allowMany = options.allowsManySelectableFields('');
  errors.push(
    ...validateSelectableFields(selectableFields, schemaOf(common), { at, missing, allowMany }),
  );
  return errors;
}

function* validateSchemaOf(
  fields: CommonFields,
  version: { readonly name: string; readonly statusEnabled: boolean },
  options: Options,
  at: FieldPath,
): Steps<FieldErrorList> {
  const source = schemaOf(fields);
  if (source === undefined) return [];
  return yield* validateSchemaInSteps(source, at.child('openAPIV3Schema'), {
    ...options,
    statusEnabled: version.statusEnabled,
    isUnchanged: options.isUnchanged(version.name),
  });
}
