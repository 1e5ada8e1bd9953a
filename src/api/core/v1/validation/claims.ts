// Rules of claims: of devices, by name, and of storage, as a template in an ephemeral volume.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import { validateLabelSelector } from '../../../../machinery/labels.ts';
import { parseQuantity } from '../../../../machinery/quantity.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate, PodResourceClaim } from './types.ts';
import { annotations } from './annotations.ts';
import { invalidEach, optionalOneOf } from './common.ts';

export function resourceClaims(list: readonly PodResourceClaim[] | undefined, at: FieldPath): FieldErrorList {
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
      const message = 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified';
      errors.push(field.invalid(path, claim, message));
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      const message = 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`';
      errors.push(field.invalid(path, claim, message));
    }
    for (const source of ['resourceClaimName', 'resourceClaimTemplateName'] as const) {
      const value = claim[source];
      if (value !== undefined) errors.push(...invalidEach(path.child(source), value, validation.isDNS1123Subdomain(value)));
    }
    return errors;
  });
}

/** The names that containers may refer to, good or bad. */
export function resourceClaimNames(list: readonly PodResourceClaim[] | undefined): ReadonlySet<string> {
  return new Set((list ?? []).map(({ name }) => name).filter((name) => name !== ''));
}

export function claimTemplate(template: PersistentVolumeClaimTemplate, at: FieldPath): FieldErrorList {
  const { labels, annotations: notes, ...others } = template.metadata;
  const path = at.child('metadata');
  return [
    ...annotations(notes, path.child('annotations')),
    ...validation.validateLabels(labels, path.child('labels')),
    ...Object.entries(others).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [field.forbidden(path.child(name), 'cannot be set')],
    ),
    ...claimSpec(template.spec, at.child('spec')),
  ];
}

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

export function claimSpec(spec: PersistentVolumeClaimSpec, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const modes: readonly string[] = spec.accessModes ?? [];
  const modesPath = at.child('accessModes');
  if (modes.length === 0) errors.push(field.required(modesPath, 'at least 1 access mode is required'));
  errors.push(...validateLabelSelector(spec.selector, at.child('selector')));
  for (const mode of modes) errors.push(...optionalOneOf(mode, ACCESS_MODES, modesPath));
  if (modes.includes('ReadWriteOncePod') && modes.some((mode) => mode !== 'ReadWriteOncePod' && ACCESS_MODES.includes(mode))) {
    errors.push(field.forbidden(modesPath, 'may not use ReadWriteOncePod with other access modes'));
  }
  const storage = spec.resources.requests?.['storage'];
  const storagePath = at.child('resources').key('storage');
  if (storage === undefined) errors.push(field.required(storagePath));
  else if (parseQuantity(storage).sign() <= 0) errors.push(field.invalid(storagePath, storage, 'must be greater than zero'));
  for (const name of ['storageClassName', 'volumeAttributesClassName'] as const) {
    const value = spec[name] ?? '';
    if (value !== '') errors.push(...invalidEach(at.child(name), value, validation.isDNS1123Subdomain(value)));
  }
  errors.push(...optionalOneOf(spec.volumeMode, ['Block', 'Filesystem'], at.child('volumeMode')));
  return errors;
}
