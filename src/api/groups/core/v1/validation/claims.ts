// Validation of claims: of devices, by name, and of storage, as a template in an ephemeral volume.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import * as validation from '#machinery/validation/validation.ts';
import type {
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
  PodResourceClaim,
} from './types.ts';
import { annotations } from './annotations.ts';
import { invalidEach, optionalOneOf, WHOLE } from './common.ts';

export function resourceClaims(
  list: readonly PodResourceClaim[] | undefined,
  { isMirror }: { readonly isMirror: boolean },
  at: FieldPath,
): FieldErrorList {
  // Devices cannot be allocated for a static pod.
  if (isMirror)
    return (list ?? []).map(() =>
      field.forbidden(WHOLE, 'static pods do not support resource claims'),
    );
  const names = new Set<string>();
  return (list ?? []).flatMap((claim, index) => {
    const path = at.index(index);
    const errors: FieldErrorList = [];
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    if (name === '') errors.push(field.required(path.child('name')));
    else if (names.has(name)) errors.push(field.duplicate(path.child('name'), name));
    else {
      errors.push(...invalidEach(path.child('name'), name, validation.isDNS1123Label(name)));
      names.add(name);
    }
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      const message =
        'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified';
      errors.push(field.invalid(path, claim, message));
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      const message = 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`';
      errors.push(field.invalid(path, claim, message));
    }
    for (const source of ['resourceClaimName', 'resourceClaimTemplateName'] as const) {
      const value = claim[source];
      if (value !== undefined)
        errors.push(
          ...invalidEach(path.child(source), value, validation.isDNS1123Subdomain(value)),
        );
    }
    return errors;
  });
}

/** Returns the names to which containers may refer, valid or not. */
export function resourceClaimNames(
  list: readonly PodResourceClaim[] | undefined,
): ReadonlySet<string> {
  return new Set((list ?? []).map(({ name }) => name).filter((name) => name !== ''));
}

export function claimTemplate(
  template: PersistentVolumeClaimTemplate,
  at: FieldPath,
): FieldErrorList {
  const { labels, annotations: notes, ...others } = template.metadata;
  const path = at.child('metadata');
  return [
    ...annotations(notes, path.child('annotations')),
    ...validation.validateLabels(labels, path.child('labels')),
    // The path contains Go's name of the field, which begins with UID.
    ...Object.entries(others).flatMap(([name, value]) =>
      value === undefined || value === null
        ? []
        : [field.forbidden(path.child(name === 'uid' ? 'uID' : name), 'cannot be set')],
    ),
    ...claimSpec(template.spec, at.child('spec')),
  ];
}

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const VOLUME_MODES = ['Block', 'Filesystem'];

/** Validates access modes. That there is one is checked elsewhere. */
export function accessModes(modes: readonly string[], at: FieldPath): FieldErrorList {
  const errors = modes.flatMap((mode) => optionalOneOf(mode, ACCESS_MODES, at));
  if (
    modes.includes('ReadWriteOncePod') &&
    modes.some((mode) => mode !== 'ReadWriteOncePod' && ACCESS_MODES.includes(mode))
  ) {
    errors.push(field.forbidden(at, 'may not use ReadWriteOncePod with other access modes'));
  }
  return errors;
}

/** Errors of an earlier version of a claim that are accepted. */
export interface ClaimRules {
  readonly allowInvalidLabelValueInSelector?: boolean;
  readonly allowInvalidAPIGroup?: boolean;
}

export function claimSpec(
  spec: PersistentVolumeClaimSpec,
  at: FieldPath,
  rules: ClaimRules = {},
): FieldErrorList {
  const errors: FieldErrorList = [];
  const modes: readonly string[] = spec.accessModes ?? [];
  if (modes.length === 0)
    errors.push(field.required(at.child('accessModes'), 'at least 1 access mode is required'));
  errors.push(
    ...validateLabelSelector(spec.selector, at.child('selector'), rules),
    ...accessModes(modes, at.child('accessModes')),
  );
  const storage = spec.resources.requests?.['storage'];
  const storagePath = at.child('resources').key('storage');
  if (storage === undefined) errors.push(field.required(storagePath));
  else if (parseQuantity(storage).sign() <= 0)
    errors.push(field.invalid(storagePath, storage, 'must be greater than zero'));
  errors.push(
    ...className(spec.storageClassName, at.child('storageClassName')),
    ...optionalOneOf(spec.volumeMode, VOLUME_MODES, at.child('volumeMode')),
    ...dataSources(spec, at, rules),
    ...className(spec.volumeAttributesClassName, at.child('volumeAttributesClassName')),
  );
  return errors;
}

function className(name: string | undefined, at: FieldPath): FieldErrorList {
  return name === undefined || name === ''
    ? []
    : invalidEach(at, name, validation.isDNS1123Subdomain(name));
}

/** Validates the data source in the older and the newer field, which must agree. */
function dataSources(
  { dataSource, dataSourceRef }: PersistentVolumeClaimSpec,
  at: FieldPath,
  rules: ClaimRules,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (dataSource !== undefined)
    errors.push(...dataReference(dataSource, at.child('dataSource'), rules));
  const { namespace = '' } = dataSourceRef ?? {};
  if (dataSourceRef !== undefined) {
    const path = at.child('dataSourceRef');
    errors.push(...dataReference(dataSourceRef, path, rules));
    if (namespace !== '')
      errors.push(
        ...invalidEach(path.child('namespace'), namespace, validation.isDNS1123Label(namespace)),
      );
  }
  if (dataSource === undefined || dataSourceRef === undefined) return errors;
  const same =
    (dataSource.apiGroup ?? null) === (dataSourceRef.apiGroup ?? null) &&
    dataSource.kind === dataSourceRef.kind &&
    dataSource.name === dataSourceRef.name;
  // As in upstream, the value in the message is an empty path.
  if (namespace !== '')
    errors.push(
      field.invalid(at, {}, 'may not be specified when dataSourceRef.namespace is specified'),
    );
  else if (!same) errors.push(field.invalid(at, {}, 'must match dataSourceRef'));
  return errors;
}

interface DataReference {
  readonly apiGroup?: string | null;
  readonly kind: string;
  readonly name: string;
}

function dataReference(
  { apiGroup, kind, name }: DataReference,
  at: FieldPath,
  rules: ClaimRules,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (name === '') errors.push(field.required(at.child('name')));
  if (kind === '') errors.push(field.required(at.child('kind')));
  const group = apiGroup ?? '';
  if (group === '' && kind !== 'PersistentVolumeClaim') {
    errors.push(
      field.invalid(
        at,
        kind,
        "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
      ),
    );
  }
  if (group !== '' && rules.allowInvalidAPIGroup !== true) {
    errors.push(...invalidEach(at.child('apiGroup'), group, validation.isDNS1123Subdomain(group)));
  }
  return errors;
}
