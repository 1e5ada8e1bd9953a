// Rules of nodes.

import { semanticEqual } from '../../../../machinery/deep.ts';
import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import { parseQuantity } from '../../../../machinery/quantity.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { ConfigMapNodeConfigSource, Node, NodeConfigSource } from './types.ts';
import { invalidEach, isDualStack } from './common.ts';
import { resourceQuantity } from './resources.ts';
import { taints } from './scheduling.ts';

const SPEC = field.path('spec');
const STATUS = field.path('status');
/** Taints were an annotation once; their errors are still told there. */
const TAINTS = field.path('metadata', 'taints');

export function validateNode(node: Node): FieldErrorList {
  const cidrs = node.spec.podCIDRs ?? [];
  const at = SPEC.child('podCIDRs');
  const errors = [
    ...taints(node.spec.taints, TAINTS),
    ...resources(node),
    ...cidrs.flatMap((cidr, index) => invalidEach(at.index(index), cidr, validation.isValidCIDR(cidr))),
  ];
  if (cidrs.length > 1) {
    if (!isDualStack(cidrs)) errors.push(field.invalid(at, cidrs, 'may specify no more than one CIDR for each IP family'));
    cidrs.forEach((cidr, index) => {
      if (cidrs.indexOf(cidr) < index) errors.push(field.duplicate(at.index(index), cidr));
    });
  }
  return errors;
}

function resources({ status }: Node): FieldErrorList {
  return (['capacity', 'allocatable'] as const).flatMap((list) =>
    Object.entries(status[list] ?? {}).flatMap(([name, amount]) =>
      resourceQuantity(name, parseQuantity(amount), STATUS.child(list, name)),
    ),
  );
}

export function validateNodeUpdate(node: Node, old: Node): FieldErrorList {
  const errors = resources(node);
  const addresses = new Set<string>();
  (node.status.addresses ?? []).forEach(({ type, address }, index) => {
    const key = `${type} ${address}`;
    const path = STATUS.child('addresses').index(index);
    if (addresses.has(key)) errors.push(field.duplicate(path, { Type: type, Address: address }));
    addresses.add(key);
  });
  const before = old.spec.podCIDRs ?? [];
  if (before.length > 0 && !semanticEqual(node.spec.podCIDRs, before)) {
    errors.push(field.forbidden(SPEC.child('podCIDRs'), 'node updates may not change podCIDR except from "" to valid'));
  }
  if ((old.spec.providerID ?? '') !== '' && node.spec.providerID !== old.spec.providerID) {
    errors.push(field.forbidden(SPEC.child('providerID'), 'node updates may not change providerID except from "" to valid'));
  }
  const { configSource } = node.spec;
  if (configSource !== undefined) errors.push(...configuration(configSource, 'spec', SPEC.child('configSource')));
  for (const name of ['assigned', 'active', 'lastKnownGood'] as const) {
    const source = node.status.config?.[name];
    if (source !== undefined) errors.push(...configuration(source, 'status', STATUS.child('config', name)));
  }
  errors.push(...taints(node.spec.taints, TAINTS));
  if ((node.spec.externalID ?? '') !== (old.spec.externalID ?? '')) {
    errors.push(field.forbidden(SPEC.child('externalID'), 'may not be updated'));
  }
  return errors;
}

/** Nothing reads it any more, but what is stored has a form. */
function configuration(source: NodeConfigSource, part: 'spec' | 'status', at: FieldPath): FieldErrorList {
  const { configMap } = source;
  if (configMap === undefined) return [field.invalid(at, source, 'exactly one reference subfield must be non-nil')];
  return configMapReference(configMap, part, at.child('configMap'));
}

function configMapReference(source: ConfigMapNodeConfigSource, part: 'spec' | 'status', at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  for (const name of ['uid', 'resourceVersion'] as const) {
    const given = (source[name] ?? '') !== '';
    if (part === 'spec' && given) errors.push(field.forbidden(at.child(name), `${name} must not be set in spec`));
    if (part === 'status' && !given) errors.push(field.required(at.child(name), `${name} must be set in status`));
  }
  const checks = {
    namespace: validation.isDNS1123Label,
    name: validation.isDNS1123Subdomain,
    kubeletConfigKey: validation.isConfigMapKey,
  };
  for (const name of ['namespace', 'name', 'kubeletConfigKey'] as const) {
    const value = source[name];
    if (value === '') errors.push(field.required(at.child(name), `${name} must be set`));
    else errors.push(...invalidEach(at.child(name), value, checks[name](value)));
  }
  return errors;
}
