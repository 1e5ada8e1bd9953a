// Validation of nodes.

import { isPlainObject } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { quote } from '#machinery/text/go-format.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { ConfigMapNodeConfigSource, Node, NodeConfigSource, Taint } from './types.ts';
import { invalidEach, isDualStack } from './common.ts';
import { isRange, legacyCIDR } from './ip.ts';
import { resourceQuantity } from './resources.ts';
import { taints } from './scheduling.ts';

const SPEC = field.path('spec');
const STATUS = field.path('status');
const ANNOTATIONS = field.path('metadata', 'annotations');
const TAINTS_ANNOTATION = 'scheduler.alpha.kubernetes.io/taints';
const AVOID_PODS_ANNOTATION = 'scheduler.alpha.kubernetes.io/preferAvoidPods';
/** Taints were an annotation once; their errors still have its path. */
const TAINTS = field.path('metadata', 'taints');

export function validateNode(node: Node): FieldErrorList {
  const cidrs = node.spec.podCIDRs ?? [];
  const at = SPEC.child('podCIDRs');
  const errors = [
    ...annotations(node),
    ...taints(node.spec.taints, TAINTS),
    ...resources(node),
    ...swap(node),
    ...declaredFeatures(node),
    ...cidrs.flatMap((cidr, index) => legacyCIDR(cidr, at.index(index))),
  ];
  return cidrs.length > 1 ? [...errors, ...onePerFamily(cidrs, at)] : errors;
}

/** Ranges that cannot be read have errors of their own, too, as upstream. */
function onePerFamily(cidrs: readonly string[], at: FieldPath): FieldErrorList {
  const wrong = cidrs.findIndex((cidr) => !isRange(cidr));
  const message =
    'invalid PodCIDRs. failed to check with dual stack with error:' +
    `invalid CIDR[${wrong}]: <nil> (invalid CIDR address: ${cidrs[wrong]})`;
  return [
    ...(wrong < 0 ? [] : [field.internal(at, new Error(message))]),
    ...(wrong < 0 && isDualStack(cidrs)
      ? []
      : [field.invalid(at, cidrs, 'may specify no more than one CIDR for each IP family')]),
  ];
}

/** Validates obsolete annotations, which must still have their former content. */
function annotations({ metadata }: Node): FieldErrorList {
  const map = metadata.annotations ?? {};
  return [
    ...taintsAnnotation(map[TAINTS_ANNOTATION] ?? ''),
    ...avoidPodsAnnotation(map[AVOID_PODS_ANNOTATION] ?? ''),
  ];
}

function taintsAnnotation(text: string): FieldErrorList {
  if (text === '') return [];
  const list = parsed(text);
  if (typeof list === 'string') return [field.invalid(ANNOTATIONS, TAINTS_ANNOTATION, list)];
  if (list.value === null) return [];
  if (!Array.isArray(list.value) || !list.value.every(isPlainObject)) {
    return [
      field.invalid(
        ANNOTATIONS,
        TAINTS_ANNOTATION,
        'json: cannot unmarshal into Go value of type []v1.Taint',
      ),
    ];
  }
  const complete = (list.value as Partial<Taint>[]).map((taint) => ({
    ...taint,
    key: taint.key ?? '',
    effect: taint.effect ?? '',
  }));
  return taints(complete as Taint[], ANNOTATIONS.child(TAINTS_ANNOTATION));
}

/** The annotation with owners whose pods should avoid the node. */
interface AvoidPods {
  readonly preferAvoidPods?: readonly {
    readonly podSignature?: { readonly podController?: { readonly controller?: boolean } };
  }[];
}

function avoidPodsAnnotation(text: string): FieldErrorList {
  if (text === '') return [];
  const parsedText = parsed(text);
  const at = ANNOTATIONS.child('AvoidPods');
  if (typeof parsedText === 'string') return [field.invalid(at, AVOID_PODS_ANNOTATION, parsedText)];
  if (parsedText.value !== null && !isPlainObject(parsedText.value)) {
    return [
      field.invalid(
        at,
        AVOID_PODS_ANNOTATION,
        'json: cannot unmarshal into Go value of type v1.AvoidPods',
      ),
    ];
  }
  return ((parsedText.value as AvoidPods | null)?.preferAvoidPods ?? []).flatMap(
    ({ podSignature }, index) => {
      const signature = ANNOTATIONS.child(AVOID_PODS_ANNOTATION).index(index).child('PodSignature');
      const owner = podSignature?.podController;
      if (owner === undefined) return [field.required(signature)];
      if (owner.controller === true) return [];
      return [
        field.invalid(
          signature.child('PodController', 'Controller'),
          false,
          'must point to a controller',
        ),
      ];
    },
  );
}

/** Returns the value of JSON text, or its error. */
function parsed(text: string): { readonly value: unknown } | string {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return (error as Error).message;
  }
}

function swap({ status }: Node): FieldErrorList {
  const capacity = status.nodeInfo?.swap?.capacity;
  if (capacity === undefined || capacity > 0) return [];
  return [
    field.invalid(
      field.path('metadata', 'nodeSwapStatus', 'capacity'),
      capacity,
      'must be greater than zero',
    ),
  ];
}

const MAX_FEATURE_LENGTH = validation.DNS1123_SUBDOMAIN_MAX_LENGTH;
const FEATURE = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z0-9]+)*$/;

/** Validates the declared features: unique and sorted by name. */
function declaredFeatures({ status }: Node): FieldErrorList {
  const list = status.declaredFeatures ?? [];
  const at = STATUS.child('declaredFeatures');
  return list.flatMap((name, index) => {
    const errors: FieldErrorList = [];
    const messageStart = `invalid feature name ${quote(name)}: must`;
    if (Buffer.byteLength(name) > MAX_FEATURE_LENGTH) {
      errors.push(
        field.invalid(
          at.index(index),
          name,
          `${messageStart} be no more than ${MAX_FEATURE_LENGTH} characters`,
        ),
      );
    } else if (!FEATURE.test(name)) {
      const form =
        "start with an UpperCamelCase segment, with subsequent segments separated by '/' " +
        '(e.g., MyFeature or MyFeature/mySubFeature), ' +
        'and contain only alphanumeric characters and slashes';
      errors.push(field.invalid(at.index(index), name, `${messageStart} ${form}`));
    }
    const next = list[index + 1];
    if (next === name) errors.push(field.duplicate(at.index(index + 1), next));
    else if (next !== undefined && name > next) {
      errors.push(field.invalid(at.index(index + 1), next, 'list must be sorted alphabetically'));
    }
    return errors;
  });
}

function resources({ status }: Node): FieldErrorList {
  return (['capacity', 'allocatable'] as const).flatMap((list) =>
    Object.entries(status[list] ?? {}).flatMap(([name, amount]) =>
      resourceQuantity(name, parseQuantity(amount), STATUS.child(list, name)),
    ),
  );
}

export function validateNodeUpdate(node: Node, old: Node): FieldErrorList {
  const errors = [...annotations(node), ...resources(node), ...declaredFeatures(node)];
  const addresses = new Set<string>();
  (node.status.addresses ?? []).forEach(({ type, address }, index) => {
    const key = `${type} ${address}`;
    const path = STATUS.child('addresses').index(index);
    if (addresses.has(key)) errors.push(field.duplicate(path, { Type: type, Address: address }));
    addresses.add(key);
  });
  const before = old.spec.podCIDRs ?? [];
  const after = node.spec.podCIDRs ?? [];
  // Reports one error for each changed range; one for all if their number has changed.
  const changed =
    after.length === before.length
      ? before.filter((cidr, index) => cidr !== after[index])
      : before.slice(0, 1);
  for (const _ of changed) {
    errors.push(
      field.forbidden(
        SPEC.child('podCIDRs'),
        'node updates may not change podCIDR except from "" to valid',
      ),
    );
  }
  if ((old.spec.providerID ?? '') !== '' && node.spec.providerID !== old.spec.providerID) {
    errors.push(
      field.forbidden(
        SPEC.child('providerID'),
        'node updates may not change providerID except from "" to valid',
      ),
    );
  }
  const { configSource } = node.spec;
  if (configSource !== undefined)
    errors.push(...configuration(configSource, 'spec', SPEC.child('configSource')));
  for (const name of ['assigned', 'active', 'lastKnownGood'] as const) {
    const source = node.status.config?.[name];
    if (source !== undefined)
      errors.push(...configuration(source, 'status', STATUS.child('config', name)));
  }
  errors.push(...taints(node.spec.taints, TAINTS));
  if ((node.spec.externalID ?? '') !== (old.spec.externalID ?? '')) {
    errors.push(field.forbidden(SPEC.child('externalID'), 'may not be updated'));
  }
  return errors;
}

/** Validates the obsolete configuration source: nothing uses it, but a stored one has a form. */
function configuration(
  source: NodeConfigSource,
  part: 'spec' | 'status',
  at: FieldPath,
): FieldErrorList {
  const { configMap } = source;
  if (configMap === undefined)
    return [field.invalid(at, source, 'exactly one reference subfield must be non-nil')];
  return configMapReference(configMap, part, at.child('configMap'));
}

function configMapReference(
  source: ConfigMapNodeConfigSource,
  part: 'spec' | 'status',
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  for (const name of ['uid', 'resourceVersion'] as const) {
    const isSet = (source[name] ?? '') !== '';
    if (part === 'spec' && isSet)
      errors.push(field.forbidden(at.child(name), `${name} must not be set in spec`));
    if (part === 'status' && !isSet) errors.push(field.required(at.child(name)));
  }
  const checks = {
    namespace: validation.isDNS1123Label,
    name: validation.isDNS1123Subdomain,
    kubeletConfigKey: validation.isConfigMapKey,
  };
  for (const name of ['namespace', 'name', 'kubeletConfigKey'] as const) {
    const value = source[name];
    if (value === '') errors.push(field.required(at.child(name)));
    else errors.push(...invalidEach(at.child(name), value, checks[name](value)));
  }
  return errors;
}
