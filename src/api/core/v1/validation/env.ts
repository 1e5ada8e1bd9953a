// Rules of environment variables and of references to fields.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import { parseQuantity } from '../../../../machinery/quantity.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { EnvFromSource, EnvVar, EnvVarSource, ObjectFieldSelector, ResourceFieldSelector } from './types.ts';
import { invalidEach, referenceName } from './common.ts';

/** Fields of a pod that an environment variable can have. */
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

/** Fields of a pod that a downward API volume can have. */
export const VOLUME_FIELD_PATHS = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

/** Every field that a reference may name in version v1 at all; a subset goes where. */
const KNOWN_FIELD_PATHS = new Set([
  ...ENV_FIELD_PATHS,
  ...VOLUME_FIELD_PATHS,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
  'status.nominatedNodeName',
  'spec.hostNetwork',
]);

const CONTAINER_RESOURCE_PATHS = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];

const DIVISORS = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

export function env(variables: readonly EnvVar[] | undefined, at: FieldPath): FieldErrorList {
  return (variables ?? []).flatMap((variable, index) => {
    const path = at.index(index);
    const errors: FieldErrorList = [];
    if (variable.name === '') errors.push(field.required(path.child('name')));
    else errors.push(...invalidEach(path.child('name'), variable.name, validation.isRelaxedEnvVarName(variable.name)));
    if (variable.valueFrom !== undefined) errors.push(...valueFrom(variable.valueFrom, variable.value, path.child('valueFrom')));
    return errors;
  });
}

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
    const path = at.child(kind);
    errors.push(...referenceName(reference.name, path.child('name')));
    if (reference.key === '') errors.push(field.required(path.child('key')));
    else errors.push(...invalidEach(path.child('key'), reference.key, validation.isConfigMapKey(reference.key)));
  }
  if (source.fileKeyRef !== undefined) {
    sources++;
    const path = at.child('fileKeyRef');
    if (source.fileKeyRef.key === '') errors.push(field.required(path.child('key')));
    if (source.fileKeyRef.volumeName === '') errors.push(field.required(path.child('volumeName')));
    if (source.fileKeyRef.path === '') errors.push(field.required(path.child('path')));
  }
  if (sources === 0) {
    errors.push(
      field.invalid(
        at,
        '',
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ),
    );
  } else if (value !== undefined && value !== '') {
    errors.push(field.invalid(at, '', 'may not be specified when `value` is not empty'));
  } else if (sources > 1) {
    errors.push(field.invalid(at, '', 'may not have more than one field specified at a time'));
  }
  return errors;
}

/** The key in a path such as metadata.labels['app'], and the path without it. */
export function splitSubscript(path: string): { readonly path: string; readonly subscript?: string } {
  const match = /^(.*)\['(.*)'\]$/.exec(path);
  return match === null ? { path } : { path: match[1] as string, subscript: match[2] };
}

export function fieldRef(reference: ObjectFieldSelector, allowed: readonly string[], at: FieldPath): FieldErrorList {
  if (reference.apiVersion === undefined || reference.apiVersion === '') return [field.required(at.child('apiVersion'))];
  if (reference.fieldPath === '') return [field.required(at.child('fieldPath'))];
  const path = at.child('fieldPath');
  const split = splitSubscript(reference.fieldPath);
  if (reference.apiVersion !== 'v1' || !KNOWN_FIELD_PATHS.has(split.path)) {
    const problem =
      reference.apiVersion === 'v1'
        ? `field label not supported: ${split.path}`
        : `unsupported pod version: ${reference.apiVersion}`;
    return [field.invalid(path, reference.fieldPath, `error converting fieldPath: ${problem}`)];
  }
  if (split.subscript !== undefined) {
    if (split.path === 'metadata.annotations')
      return invalidEach(path, reference.fieldPath, validation.isQualifiedName(split.subscript.toLowerCase()));
    if (split.path === 'metadata.labels')
      return invalidEach(path, reference.fieldPath, validation.isQualifiedName(split.subscript));
    return [field.invalid(path, reference.fieldPath, 'does not support subscript')];
  }
  return allowed.includes(split.path) ? [] : [field.notSupported(path, split.path, allowed)];
}

export function resourceFieldRef(reference: ResourceFieldSelector, inVolume: boolean, at: FieldPath): FieldErrorList {
  if (inVolume && (reference.containerName === undefined || reference.containerName === ''))
    return [field.required(at.child('containerName'))];
  if (reference.resource === '') return [field.required(at.child('resource'))];
  const hugePages = /^(limits|requests)\.hugepages-/.test(reference.resource);
  if (!hugePages && !CONTAINER_RESOURCE_PATHS.includes(reference.resource)) {
    return [field.notSupported(at.child('resource'), reference.resource, CONTAINER_RESOURCE_PATHS)];
  }
  const divisor = parseQuantity(reference.divisor ?? '0');
  if (divisor.sign() === 0) return [];
  const resource = reference.resource.slice(reference.resource.indexOf('.') + 1);
  const at1 = at.child('divisor');
  const is = (text: string): boolean => divisor.cmp(parseQuantity(text)) === 0;
  if (resource === 'cpu') {
    return is('1m') || is('1')
      ? []
      : [field.invalid(at1, resource, "only divisor's values 1m and 1 are supported with the cpu resource")];
  }
  return DIVISORS.some(is)
    ? []
    : [
        field.invalid(
          at1,
          resource,
          `only divisor's values ${DIVISORS.join(', ')} are supported with the ${hugePages ? 'hugepages' : resource === 'memory' ? 'memory' : 'local ephemeral storage'} resource`,
        ),
      ];
}

export function envFrom(sources: readonly EnvFromSource[] | undefined, at: FieldPath): FieldErrorList {
  return (sources ?? []).flatMap((source, index) => {
    const path = at.index(index);
    const errors: FieldErrorList = [];
    if (source.prefix !== undefined && source.prefix !== '') {
      errors.push(...invalidEach(path.child('prefix'), source.prefix, validation.isRelaxedEnvVarName(source.prefix)));
    }
    let sourceCount = 0;
    for (const kind of ['configMapRef', 'secretRef'] as const) {
      const reference = source[kind];
      if (reference === undefined) continue;
      sourceCount++;
      errors.push(...referenceName(reference.name, path.child(kind).child('name')));
    }
    if (sourceCount === 0) errors.push(field.invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'));
    else if (sourceCount > 1) errors.push(field.invalid(path, '', 'may not have more than one field specified at a time'));
    return errors;
  });
}
