// Rules of network policies. Messages and paths are Kubernetes' own (pkg/apis/networking/validation).

import { BlockList, isIPv6 as isAddressV6 } from 'node:net';
import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import { validateLabelSelector } from '../../../../machinery/labels.ts';
import * as validation from '../../../../machinery/validation.ts';
import { invalidEach } from '../../../core/v1/validation/common.ts';
import type { Immutable } from '../../../meta/v1/index.ts';
import type * as networking from '../types.ts';

type NetworkPolicy = Immutable<networking.NetworkPolicy>;
type Port = Immutable<networking.NetworkPolicyPort>;
type Peer = Immutable<networking.NetworkPolicyPeer>;
type LabelSelectorOptions = Parameters<typeof validateLabelSelector>[2];

const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const POLICY_TYPES = ['Egress', 'Ingress'];

/** `old`: absent when it is created. Values in selectors that no label can have may stay where there were some. */
export function validateNetworkPolicy({ spec }: NetworkPolicy, old?: NetworkPolicy): FieldErrorList {
  const at = field.path('spec');
  const hadOthers = old !== undefined && validateLabelSelector(old.spec.podSelector, at).length > 0;
  const options = { allowInvalidLabelValueInSelector: hadOthers };
  const errors = validateLabelSelector(spec.podSelector, at.child('podSelector'), options);
  spec.ingress?.forEach((rule, index) => {
    const place = at.child('ingress').index(index);
    rule.ports?.forEach((port, i) => errors.push(...policyPort(port, place.child('ports').index(i))));
    rule.from?.forEach((peer, i) => errors.push(...policyPeer(peer, options, place.child('from').index(i))));
  });
  spec.egress?.forEach((rule, index) => {
    const place = at.child('egress').index(index);
    rule.ports?.forEach((port, i) => errors.push(...policyPort(port, place.child('ports').index(i))));
    rule.to?.forEach((peer, i) => errors.push(...policyPeer(peer, options, place.child('to').index(i))));
  });
  const types = spec.policyTypes ?? [];
  if (types.length > POLICY_TYPES.length) {
    errors.push(field.invalid(at.child('policyTypes'), types, 'may not specify more than two policyTypes'));
    return errors;
  }
  types.forEach((type, index) => {
    if (!POLICY_TYPES.includes(type)) errors.push(field.notSupported(at.child('policyTypes').index(index), type, POLICY_TYPES));
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
    if (endPort !== undefined) errors.push(field.invalid(end, endPort, 'may not be specified when `port` is not specified'));
  } else if (typeof port === 'number') {
    errors.push(...invalidEach(at.child('port'), port, validation.isValidPortNum(port)));
    if (endPort !== undefined) {
      if (endPort < port) errors.push(field.invalid(end, port, 'must be greater than or equal to `port`'));
      errors.push(...invalidEach(end, endPort, validation.isValidPortNum(endPort)));
    }
  } else {
    if (endPort !== undefined) errors.push(field.invalid(end, endPort, 'may not be specified when `port` is non-numeric'));
    errors.push(...invalidEach(at.child('port'), port, validation.isValidPortName(port)));
  }
  return errors;
}

function policyPeer(
  { podSelector, namespaceSelector, ipBlock }: Peer,
  options: LabelSelectorOptions,
  at: FieldPath,
): FieldErrorList {
  const errors = [
    ...validateLabelSelector(podSelector, at.child('podSelector'), options),
    ...validateLabelSelector(namespaceSelector, at.child('namespaceSelector'), options),
    ...(ipBlock === undefined ? [] : block(ipBlock, at.child('ipBlock'))),
  ];
  const peers = [podSelector, namespaceSelector, ipBlock].filter((peer) => peer !== undefined).length;
  if (peers === 0) errors.push(field.required(at, 'must specify a peer'));
  else if (peers > 1 && ipBlock !== undefined) {
    errors.push(field.forbidden(at, 'may not specify both ipBlock and another peer'));
  }
  return errors;
}

function block({ cidr, except = [] }: Immutable<networking.IPBlock>, at: FieldPath): FieldErrorList {
  if (cidr === '') return [field.required(at.child('cidr'))];
  const problems = validation.isValidCIDR(cidr);
  if (problems.length > 0) return invalidEach(at.child('cidr'), cidr, problems);
  return except.flatMap((part, index) => {
    const place = at.child('except').index(index);
    const wrong = validation.isValidCIDR(part);
    if (wrong.length > 0) return invalidEach(place, part, wrong);
    return isStrictlyWithin(part, cidr) ? [] : [field.invalid(place, part, 'must be a strict subset of `cidr`')];
  });
}

/** Both are valid. */
function isStrictlyWithin(part: string, whole: string): boolean {
  const [address, length] = part.split('/') as [string, string];
  const [base, prefix] = whole.split('/') as [string, string];
  if (isAddressV6(address) !== isAddressV6(base) || Number(length) <= Number(prefix)) return false;
  const list = new BlockList();
  const family = isAddressV6(base) ? 'ipv6' : 'ipv4';
  list.addSubnet(base, Number(prefix), family);
  return list.check(address, family);
}
