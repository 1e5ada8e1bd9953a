// Rules of the core group's smaller kinds.

import { deepEqual } from '../../../../machinery/deep.ts';
import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList } from '../../../../machinery/field.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { Binding, ConfigMap, Event, Namespace, Node, ReplicationController, Secret, ServiceAccount } from './types.ts';
import { immutable, invalidEach, nonNegative } from './common.ts';
import { runningPodTemplate } from './pod-spec.ts';
import { resourceList } from './resources.ts';
import { taints } from './scheduling.ts';

/** The most bytes that the data of a ConfigMap or Secret may have. */
const MAX_DATA_SIZE = 1024 * 1024;

export function validateConfigMap(configMap: ConfigMap): FieldErrorList {
  const errors: FieldErrorList = [];
  let size = 0;
  for (const [key, value] of Object.entries(configMap.data ?? {})) {
    errors.push(...invalidEach(field.path('data').key(key), key, validation.isConfigMapKey(key)));
    if (configMap.binaryData !== undefined && Object.hasOwn(configMap.binaryData, key)) {
      errors.push(field.invalid(field.path('data').key(key), key, 'duplicate of key present in binaryData'));
    }
    size += Buffer.byteLength(value);
  }
  for (const [key, value] of Object.entries(configMap.binaryData ?? {})) {
    errors.push(...invalidEach(field.path('binaryData').key(key), key, validation.isConfigMapKey(key)));
    size += Buffer.byteLength(value, 'base64');
  }
  if (size > MAX_DATA_SIZE) errors.push(field.tooLong(field.path(), '', MAX_DATA_SIZE));
  return errors;
}

export function validateConfigMapUpdate(configMap: ConfigMap, old: ConfigMap): FieldErrorList {
  const errors: FieldErrorList = [];
  if (old.immutable === true) {
    if (configMap.immutable !== true)
      errors.push(field.forbidden(field.path('immutable'), 'field is immutable when `immutable` is set'));
    for (const name of ['data', 'binaryData'] as const) {
      if (!deepEqual(configMap[name], old[name]))
        errors.push(field.forbidden(field.path(name), 'field is immutable when `immutable` is set'));
    }
  }
  return [...errors, ...validateConfigMap(configMap)];
}

/** Keys that a secret of a known type must have. */
const REQUIRED_KEYS: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
};
const DOCKER_KEYS = new Set(['.dockercfg', '.dockerconfigjson']);

export function validateSecret(secret: Secret): FieldErrorList {
  const errors: FieldErrorList = [];
  const dataPath = field.path('data');
  const data = secret.data ?? {};
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    errors.push(...invalidEach(dataPath.key(key), key, validation.isConfigMapKey(key)));
    size += Buffer.byteLength(value, 'base64');
  }
  if (size > MAX_DATA_SIZE) errors.push(field.tooLong(dataPath, '', MAX_DATA_SIZE));
  if (secret.type === 'kubernetes.io/service-account-token') {
    const annotation = 'kubernetes.io/service-account.name';
    if ((secret.metadata.annotations?.[annotation] ?? '') === '')
      errors.push(field.required(field.path('metadata', 'annotations').key(annotation)));
  }
  if (secret.type === 'kubernetes.io/basic-auth' && data['username'] === undefined && data['password'] === undefined) {
    errors.push(field.required(dataPath.key('username')), field.required(dataPath.key('password')));
  }
  for (const key of REQUIRED_KEYS[secret.type ?? ''] ?? []) {
    const value = data[key];
    if (value === undefined) errors.push(field.required(dataPath.key(key)));
    else if (DOCKER_KEYS.has(key) && !isJson(Buffer.from(value, 'base64').toString('utf8'))) {
      errors.push(field.invalid(dataPath.key(key), '<secret contents redacted>', 'invalid character or end of JSON input'));
    }
  }
  return errors;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export function validateSecretUpdate(secret: Secret, old: Secret): FieldErrorList {
  const errors = immutable(secret.type, old.type, field.path('type'), Object.is);
  if (old.immutable === true) {
    if (secret.immutable !== true)
      errors.push(field.forbidden(field.path('immutable'), 'field is immutable when `immutable` is set'));
    if (!deepEqual(secret.data, old.data))
      errors.push(field.forbidden(field.path('data'), 'field is immutable when `immutable` is set'));
  }
  return [...errors, ...validateSecret(secret)];
}

export function validateServiceAccount(_account: ServiceAccount): FieldErrorList {
  return [];
}

export function validateNamespace(namespace: Namespace): FieldErrorList {
  return (namespace.spec.finalizers ?? []).flatMap((finalizer, index) => namespaceFinalizer(finalizer, index));
}

function namespaceFinalizer(finalizer: string, index: number): FieldErrorList {
  const at = field.path('spec', 'finalizers').index(index);
  const errors = invalidEach(at, finalizer, validation.isQualifiedName(finalizer));
  if (!finalizer.includes('/') && finalizer !== 'kubernetes') {
    errors.push(field.invalid(at, finalizer, 'name is neither a standard finalizer name nor is it fully qualified'));
  }
  return errors;
}

export function validateNamespaceStatusUpdate(namespace: Namespace): FieldErrorList {
  const at = field.path('status', 'phase');
  const { phase } = namespace.status;
  if (namespace.metadata.deletionTimestamp === undefined) {
    return phase === 'Active' ? [] : [field.invalid(at, phase ?? '', 'may only be "Active" if `deletionTimestamp` is empty')];
  }
  return phase === 'Terminating'
    ? []
    : [field.invalid(at, phase ?? '', 'may only be "Terminating" if `deletionTimestamp` is not empty')];
}

export function validateNode(node: Node): FieldErrorList {
  const spec = field.path('spec');
  const errors = taints(node.spec.taints, spec.child('taints'));
  const cidrs = node.spec.podCIDRs ?? [];
  cidrs.forEach((cidr, index) =>
    errors.push(...invalidEach(spec.child('podCIDRs').index(index), cidr, validation.isValidCIDR(cidr))),
  );
  const isV6 = (cidr: string): boolean => cidr.includes(':');
  if (cidrs.length > 2 || (cidrs.length === 2 && isV6(cidrs[0] as string) === isV6(cidrs[1] as string))) {
    errors.push(field.invalid(spec.child('podCIDRs'), cidrs, 'may specify no more than one CIDR for each IP family'));
  }
  errors.push(
    ...resourceList(node.status.capacity, field.path('status', 'capacity')),
    ...resourceList(node.status.allocatable, field.path('status', 'allocatable')),
  );
  return errors;
}

export function validateNodeUpdate(node: Node, old: Node): FieldErrorList {
  const spec = field.path('spec');
  const errors = validateNode(node);
  const addresses = new Set<string>();
  (node.status.addresses ?? []).forEach((address, index) => {
    const key = `${address.type}:${address.address}`;
    if (addresses.has(key)) errors.push(field.duplicate(field.path('status', 'addresses').index(index), address));
    addresses.add(key);
  });
  if (old.spec.podCIDR !== undefined && !deepEqual(node.spec.podCIDRs, old.spec.podCIDRs)) {
    errors.push(field.forbidden(spec.child('podCIDRs'), 'node updates may not change podCIDR except from "" to valid'));
  }
  if ((old.spec.providerID ?? '') !== '' && node.spec.providerID !== old.spec.providerID) {
    errors.push(field.forbidden(spec.child('providerID'), 'node updates may not change providerID except from "" to valid'));
  }
  return errors;
}

export function validateReplicationController(controller: ReplicationController): FieldErrorList {
  const at = field.path('spec');
  const { spec } = controller;
  const errors: FieldErrorList = [...nonNegative(spec.minReadySeconds, at.child('minReadySeconds'))];
  const selector = Object.entries(spec.selector ?? {});
  if (selector.length === 0) errors.push(field.required(at.child('selector')));
  if (spec.replicas === undefined) errors.push(field.required(at.child('replicas')));
  else errors.push(...nonNegative(spec.replicas, at.child('replicas')));
  const labels = spec.template?.metadata?.labels ?? {};
  if (spec.template !== undefined && selector.length > 0 && !selector.every(([key, value]) => labels[key] === value)) {
    errors.push(field.invalid(at.child('template', 'metadata', 'labels'), labels, '`selector` does not match template `labels`'));
  }
  errors.push(...runningPodTemplate(spec.template, 'ReplicationController', spec.replicas ?? 0, at.child('template')));
  return errors;
}

export function validateReplicaCounts(status: {
  replicas?: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  observedGeneration?: number;
  terminatingReplicas?: number;
}): FieldErrorList {
  const at = field.path('status');
  const names = [
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'observedGeneration',
    'terminatingReplicas',
  ] as const;
  const errors: FieldErrorList = names.flatMap((name) => nonNegative(status[name], at.child(name)));
  const replicas = status.replicas ?? 0;
  for (const name of ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'] as const) {
    if ((status[name] ?? 0) > replicas)
      errors.push(field.invalid(at.child(name), status[name], 'cannot be greater than status.replicas'));
  }
  if ((status.availableReplicas ?? 0) > (status.readyReplicas ?? 0)) {
    errors.push(field.invalid(at.child('availableReplicas'), status.availableReplicas, 'cannot be greater than readyReplicas'));
  }
  return errors;
}

/** Events are for the namespace of what they are about; those about the cluster live in default. */
export function validateEvent(event: Event): FieldErrorList {
  const { namespace } = event.metadata;
  const about = event.involvedObject.namespace ?? '';
  if (about === '') {
    return namespace === 'default' || namespace === 'kube-system' || namespace === undefined
      ? []
      : [field.invalid(field.path('involvedObject', 'namespace'), about, 'does not match event.namespace')];
  }
  return about === namespace
    ? []
    : [field.invalid(field.path('involvedObject', 'namespace'), about, 'does not match event.namespace')];
}

export function validateBinding(binding: Binding): FieldErrorList {
  const errors: FieldErrorList = [];
  const { kind = '', name = '' } = binding.target;
  if (kind !== '' && kind !== 'Node') errors.push(field.notSupported(field.path('target', 'kind'), kind, ['Node', '<empty>']));
  if (name === '') errors.push(field.required(field.path('target', 'name')));
  return errors;
}
