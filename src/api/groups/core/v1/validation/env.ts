// Validation of environment variables and of references to fields.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import * as validation from '#machinery/validation/validation.ts';
import type {
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  FileKeySelector,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from './types.ts';
import { invalidEach, noBacksteps } from './common.ts';

/** Fields of a pod for environment variables. */
const ENV_FIELD_PATHS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

/** Fields of a pod for downward API volumes. */
export const VOLUME_FIELD_PATHS = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

/** All fields that a reference in version v1 may name; each use allows a subset. */
const KNOWN_FIELD_PATHS = new Set([
  ...ENV_FIELD_PATHS,
  ...VOLUME_FIELD_PATHS,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
]);

const CONTAINER_RESOURCE_PATHS = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];

const CPU_DIVISORS = ['1m', '1'];
const DIVISORS = [
  '1',
  '1k',
  '1M',
  '1G',
  '1T',
  '1P',
  '1E',
  '1Ki',
  '1Mi',
  '1Gi',
  '1Ti',
  '1Pi',
  '1Ei',
];

export function env(variables: readonly EnvVar[] | undefined, at: FieldPath): FieldErrorList {
  return (variables ?? []).flatMap((variable, index) => {
    const path = at.index(index);
    const errors: FieldErrorList = [];
    if (variable.name === '') errors.push(field.required(path.child('name')));
    else
      errors.push(
        ...invalidEach(
          path.child('name'),
          variable.name,
          validation.isRelaxedEnvVarName(variable.name),
        ),
      );
    if (variable.valueFrom !== undefined)
      errors.push(...valueFrom(variable.valueFrom, variable.value, path.child('valueFrom')));
    return errors;
  });
}

const SOURCES = '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';

function valueFrom(source: EnvVarSource, value: string | undefined, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  let sources = 0;
  if (source.fieldRef !== undefined) {
    sources++;
    errors.push(...fieldRef(source.fieldRef, ENV_FIELD_PATHS, at.child('fieldRef')));
  }
  if (source.resourceFieldRef !== undefined) {
    sources++;
    errors.push(...resourceFieldRef(source.resourceFieldRef, false, at.child('resourceFieldRef')));
  }
  for (const kind of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const reference = source[kind];
    if (reference === undefined) continue;
    sources++;
    const { name = '', key } = reference;
    const path = at.child(kind);
    errors.push(...invalidEach(path.child('name'), name, validation.isDNS1123Subdomain(name)));
    if (key === '') errors.push(field.required(path.child('key')));
    else errors.push(...invalidEach(path.child('key'), key, validation.isConfigMapKey(key)));
  }
  if (source.fileKeyRef !== undefined) {
    sources++;
    errors.push(...fileKeyRef(source.fileKeyRef, at.child('fileKeyRef')));
  }
  if (sources === 0) errors.push(field.invalid(at, '', `must specify one of: ${SOURCES}`));
  else if (value !== undefined && value !== '') {
    errors.push(field.invalid(at, '', 'may not be specified when `value` is not empty'));
  } else if (sources > 1)
    errors.push(field.invalid(at, '', 'may not have more than one field specified at a time'));
  return errors;
}

function fileKeyRef({ key, volumeName, path }: FileKeySelector, at: FieldPath): FieldErrorList {
  return [
    ...(key === ''
      ? [field.required(at.child('key'))]
      : invalidEach(at.child('key'), key, validation.isRelaxedEnvVarName(key))),
    ...(volumeName === ''
      ? [field.required(at.child('volumeName'))]
      : invalidEach(at.child('volumeName'), volumeName, validation.isDNS1123Label(volumeName))),
    ...(path === '' ? [field.required(at.child('path'))] : noBacksteps(path, at.child('path'))),
  ];
}

/** Splits a path such as metadata.labels['app'] into the path and the key. */
function splitSubscript(path: string): { readonly path: string; readonly subscript?: string } {
  const match = /^(.+?)\['(.*)'\]$/s.exec(path);
  return match === null ? { path } : { path: match[1]!, subscript: match[2] };
}

export function fieldRef(
  reference: ObjectFieldSelector,
  allowed: readonly string[],
  at: FieldPath,
): FieldErrorList {
  const { apiVersion, fieldPath } = reference;
  if (apiVersion === undefined || apiVersion === '')
    return [field.required(at.child('apiVersion'))];
  if (fieldPath === '') return [field.required(at.child('fieldPath'))];
  const converted = convertFieldPath(apiVersion, fieldPath);
  if ('problem' in converted) {
    return [
      field.invalid(
        at.child('fieldPath'),
        fieldPath,
        `error converting fieldPath: ${converted.problem}`,
      ),
    ];
  }
  const { path, subscript } = converted;
  if (subscript === undefined) {
    return allowed.includes(path) ? [] : [field.notSupported(at.child('fieldPath'), path, allowed)];
  }
  const key = path === 'metadata.annotations' ? subscript.toLowerCase() : subscript;
  return invalidEach(at, key, validation.isQualifiedName(key));
}

type Converted =
  | { readonly problem: string }
  | { readonly path: string; readonly subscript?: string };

/** Returns the current name of a field. */
function convertFieldPath(version: string, given: string): Converted {
  if (version !== 'v1') return { problem: `unsupported pod version: ${version}` };
  const split = splitSubscript(given);
  if (split.subscript !== undefined) {
    if (split.path === 'metadata.annotations' || split.path === 'metadata.labels') return split;
    return { problem: `field label does not support subscript: ${given}` };
  }
  if (given === 'spec.host') return { path: 'spec.nodeName' };
  return KNOWN_FIELD_PATHS.has(given)
    ? { path: given }
    : { problem: `field label not supported: ${given}` };
}

const HUGE_PAGES = /^(limits|requests)\.hugepages-/;

export function resourceFieldRef(
  reference: ResourceFieldSelector,
  inVolume: boolean,
  at: FieldPath,
): FieldErrorList {
  const { containerName = '', resource } = reference;
  const errors: FieldErrorList = [];
  if (inVolume && containerName === '') errors.push(field.required(at.child('containerName')));
  else if (resource === '') errors.push(field.required(at.child('resource')));
  else if (!CONTAINER_RESOURCE_PATHS.includes(resource) && !HUGE_PAGES.test(resource)) {
    errors.push(field.notSupported(at.child('resource'), resource, CONTAINER_RESOURCE_PATHS));
  }
  errors.push(...divisor(reference, at.child('divisor')));
  return errors;
}

function divisor(
  { resource, divisor: text = '0' }: ResourceFieldSelector,
  at: FieldPath,
): FieldErrorList {
  const quantity = parseQuantity(text);
  if (quantity.isZero()) return [];
  const check = (known: readonly string[], what: string): FieldErrorList => {
    if (known.includes(quantity.toString())) return [];
    const list = known === CPU_DIVISORS ? '1m and 1' : known.join(', ');
    return [
      field.invalid(
        at,
        resource,
        `only divisor's values ${list} are supported with the ${what} resource`,
      ),
    ];
  };
  if (HUGE_PAGES.test(resource)) return check(DIVISORS, 'hugepages');
  switch (resource) {
    case 'limits.cpu':
    case 'requests.cpu':
      return check(CPU_DIVISORS, 'cpu');
    case 'limits.memory':
    case 'requests.memory':
      return check(DIVISORS, 'memory');
    case 'limits.ephemeral-storage':
    case 'requests.ephemeral-storage':
      return check(DIVISORS, 'local ephemeral storage');
    default:
      return [];
  }
}

function problemsOfPrefix(name: string): readonly string[] {
  return validation.isDNS1123Subdomain(
    name.length > 1 && name.endsWith('-') ? `${name.slice(0, -1)}a` : name,
  );
}

export function envFrom(
  sources: readonly EnvFromSource[] | undefined,
  at: FieldPath,
): FieldErrorList {
  return (sources ?? []).flatMap((source, index) => {
    const path = at.index(index);
    const errors: FieldErrorList = [];
    if (source.prefix !== undefined && source.prefix !== '') {
      errors.push(
        ...invalidEach(
          path.child('prefix'),
          source.prefix,
          validation.isRelaxedEnvVarName(source.prefix),
        ),
      );
    }
    let count = 0;
    for (const kind of ['configMapRef', 'secretRef'] as const) {
      const reference = source[kind];
      if (reference === undefined) continue;
      count++;
      const { name = '' } = reference;
      const at = path.child(kind, 'name');
      // A dash at the end is accepted, as in a prefix.
      errors.push(
        ...(name === '' ? [field.required(at)] : invalidEach(at, name, problemsOfPrefix(name))),
      );
    }
    if (count === 0)
      errors.push(field.invalid(at, '', 'must specify one of: `configMapRef` or `secretRef`'));
    else if (count > 1)
      errors.push(field.invalid(at, '', 'may not have more than one field specified at a time'));
    return errors;
  });
}
