// Validation of network policies. Messages and paths are upstream's
// (pkg/apis/networking/validation).

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { containsRange } from '#machinery/net/ip.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach } from '#api/groups/core/v1/validation/common.ts';
import { legacyCIDR } from '#api/groups/core/v1/validation/ip.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as networking from '../types.ts';
import { sloppyRange } from './addresses.ts';

type NetworkPolicy = Immutable<networking.NetworkPolicy>;
type Port = Immutable<networking.NetworkPolicyPort>;
type Peer = Immutable<networking.NetworkPolicyPeer>;

/** Values that may stay because they were there before. */
interface Kept {
  readonly selectors: Parameters<typeof validateLabelSelector>[2];
  readonly ranges: readonly string[];
}

// The order is the order in messages.
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];
const POLICY_TYPES = ['Ingress', 'Egress'];

/**
 * Validates a policy. `old`: absent on create. Impossible label values in its selectors, and its
 * ranges, may stay.
 */
export function validateNetworkPolicy(
  { spec }: NetworkPolicy,
  old?: NetworkPolicy,
): FieldErrorList {
  const at = field.path('spec');
  const hadOthers = old !== undefined && validateLabelSelector(old.spec.podSelector, at).length > 0;
  const kept: Kept = {
    selectors: { allowInvalidLabelValueInSelector: hadOthers },
    ranges: old === undefined ? [] : rangesOf(old),
  };
  const errors = validateLabelSelector(spec.podSelector, at.child('podSelector'), kept.selectors);
  spec.ingress?.forEach((rule, index) => {
    const place = at.child('ingress').index(index);
    rule.ports?.forEach((port, i) =>
      errors.push(...policyPort(port, place.child('ports').index(i))),
    );
    rule.from?.forEach((peer, i) =>
      errors.push(...policyPeer(peer, kept, place.child('from').index(i))),
    );
  });
  spec.egress?.forEach((rule, index) => {
    const place = at.child('egress').index(index);
    rule.ports?.forEach((port, i) =>
      errors.push(...policyPort(port, place.child('ports').index(i))),
    );
    rule.to?.forEach((peer, i) =>
      errors.push(...policyPeer(peer, kept, place.child('to').index(i))),
    );
  });
  const types = spec.policyTypes ?? [];
  if (types.length > POLICY_TYPES.length) {
    errors.push(
      field.invalid(at.child('policyTypes'), types, 'may not specify more than two policyTypes'),
    );
    return errors;
  }
  types.forEach((type, index) => {
    if (!POLICY_TYPES.includes(type))
      errors.push(field.notSupported(at.child('policyTypes').index(index), type, POLICY_TYPES));
  });
  return errors;
}

function policyPort({ protocol, port, endPort }: Port, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  if (protocol !== undefined && !PROTOCOLS.includes(protocol)) {
    errors.push(field.notSupported(at.child('protocol'), protocol, PROTOCOLS));
  }
  const end = at.child('endPort');
  if (port === undefined) {
    if (endPort !== undefined)
      errors.push(field.invalid(end, endPort, 'may not be specified when `port` is not specified'));
  } else if (typeof port === 'number') {
    errors.push(...invalidEach(at.child('port'), port, validation.isValidPortNum(port)));
    if (endPort !== undefined) {
      if (endPort < port)
        errors.push(field.invalid(end, port, 'must be greater than or equal to `port`'));
      errors.push(...invalidEach(end, endPort, validation.isValidPortNum(endPort)));
    }
  } else {
    if (endPort !== undefined)
      errors.push(field.invalid(end, endPort, 'may not be specified when `port` is non-numeric'));
    errors.push(...invalidEach(at.child('port'), port, validation.isValidPortName(port)));
  }
  return errors;
}

function policyPeer(
  { podSelector, namespaceSelector, ipBlock }: Peer,
  kept: Kept,
  at: FieldPath,
): FieldErrorList {
  const errors = [
    ...validateLabelSelector(podSelector, at.child('podSelector'), kept.selectors),
    ...validateLabelSelector(namespaceSelector, at.child('namespaceSelector'), kept.selectors),
    ...(ipBlock === undefined ? [] : block(ipBlock, at.child('ipBlock'), kept.ranges)),
  ];
  const peers = [podSelector, namespaceSelector, ipBlock].filter(
    (peer) => peer !== undefined,
  ).length;
  if (peers === 0) errors.push(field.required(at, 'must specify a peer'));
  else if (peers > 1 && ipBlock !== undefined) {
    errors.push(field.forbidden(at, 'may not specify both ipBlock and another peer'));
  }
  return errors;
}

function block(
  { cidr, except = [] }: Immutable<networking.IPBlock>,
  at: FieldPath,
  old: readonly string[],
): FieldErrorList {
  if (cidr === '') return [field.required(at.child('cidr'))];
  const errors = legacyCIDR(cidr, at.child('cidr'), old);
  const outer = sloppyRange(cidr);
  if (outer === undefined) return errors;
  except.forEach((part, index) => {
    const place = at.child('except').index(index);
    errors.push(...legacyCIDR(part, place, old));
    const range = sloppyRange(part);
    if (range === undefined || (containsRange(outer, range) && range.prefix > outer.prefix)) return;
    errors.push(field.invalid(place, part, 'must be a strict subset of `cidr`'));
  });
  return errors;
}

/** Returns every range of a policy. */
function rangesOf({ spec: { ingress = [], egress = [] } }: NetworkPolicy): readonly string[] {
  const peers = [
    ...ingress.flatMap(({ from = [] }) => from),
    ...egress.flatMap(({ to = [] }) => to),
  ];
  return peers.flatMap(({ ipBlock }) =>
    ipBlock === undefined ? [] : [ipBlock.cidr, ...(ipBlock.except ?? [])],
  );
}
