// Rules of endpoint slices. Messages and paths are Kubernetes' own (pkg/apis/discovery/validation).

import * as field from '../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../machinery/field.ts';
import * as validation from '../../../machinery/validation.ts';
import { immutable, invalidEach, isIPv6 } from '../../core/v1/validation/common.ts';
import { legacyIP } from '../../core/v1/validation/ip.ts';
import { nonSpecialIP } from '../../core/v1/validation/service-addresses.ts';
import type { Immutable } from '../../meta/v1/index.ts';
import type * as discovery from './types.ts';

type EndpointSlice = Immutable<discovery.EndpointSlice>;
type Endpoint = Immutable<discovery.Endpoint>;

const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const MAX_ENDPOINTS = 1000;
const MAX_PORTS = 20_000;
const MAX_ADDRESSES = 100;
const MAX_TOPOLOGY = 16;
const MAX_HINTS = 8;

/** `old`: addresses that it had may stay, in whatever form. */
export function validateEndpointSlice({ addressType, endpoints, ports }: EndpointSlice, old?: EndpointSlice): FieldErrorList {
  const errors: FieldErrorList = [];
  const at = field.path('addressType');
  if (addressType === '') errors.push(field.required(at));
  else if (!ADDRESS_TYPES.includes(addressType)) errors.push(field.notSupported(at, addressType, ADDRESS_TYPES));
  const place = field.path('endpoints');
  const list = endpoints ?? [];
  const before = old?.endpoints?.flatMap(({ addresses }) => addresses ?? []);
  if (list.length > MAX_ENDPOINTS) errors.push(field.tooMany(place, list.length, MAX_ENDPOINTS));
  else list.forEach((endpoint, index) => errors.push(...validateEndpoint(endpoint, addressType, place.index(index), before)));
  return [...errors, ...validatePorts(ports ?? [])];
}

export function validateEndpointSliceUpdate(slice: EndpointSlice, old: EndpointSlice): FieldErrorList {
  return [
    ...validateEndpointSlice(slice, old),
    ...immutable(slice.addressType, old.addressType, field.path('addressType'), Object.is),
  ];
}

function validateEndpoint(
  endpoint: Endpoint,
  addressType: string,
  at: FieldPath,
  before: readonly string[] | undefined,
): FieldErrorList {
  const { addresses, hostname, nodeName, deprecatedTopology = {}, hints } = endpoint;
  const errors: FieldErrorList = [];
  const place = at.child('addresses');
  const list = addresses ?? [];
  if (list.length === 0) errors.push(field.required(place, 'must contain at least 1 address'));
  else if (list.length > MAX_ADDRESSES) errors.push(field.tooMany(place, list.length, MAX_ADDRESSES));
  list.forEach((address, index) => errors.push(...validateAddress(address, addressType, place.index(index), before)));
  if (nodeName !== undefined)
    errors.push(...invalidEach(at.child('nodeName'), nodeName, validation.isDNS1123Subdomain(nodeName)));
  const topology = at.child('deprecatedTopology');
  if (Object.keys(deprecatedTopology).length > MAX_TOPOLOGY) {
    errors.push(field.tooMany(topology, Object.keys(deprecatedTopology).length, MAX_TOPOLOGY));
  }
  errors.push(...validation.validateLabels(deprecatedTopology, topology));
  for (const key of Object.keys(deprecatedTopology)) {
    if (key !== 'topology.kubernetes.io/zone') continue;
    errors.push(
      field.invalid(
        topology.key(key),
        key,
        'must use the endpoint.zone field instead of the topology.kubernetes.io/zone topology key',
      ),
    );
  }
  if (hostname !== undefined) errors.push(...invalidEach(at.child('hostname'), hostname, validation.isDNS1123Label(hostname)));
  for (const name of ['forZones', 'forNodes'] as const)
    errors.push(...validateHints(hints?.[name] ?? [], name, at.child('hints', name)));
  return errors;
}

function validateHints(list: readonly { readonly name: string }[], kind: 'forZones' | 'forNodes', at: FieldPath): FieldErrorList {
  if (list.length > MAX_HINTS) return [field.tooMany(at, list.length, MAX_HINTS)];
  const seen = new Set<string>();
  return list.flatMap(({ name }, index) => {
    const place = at.index(index).child('name');
    if (seen.has(name)) return [field.duplicate(place, name)];
    seen.add(name);
    return invalidEach(
      place,
      name,
      kind === 'forZones' ? validation.isValidLabelValue(name) : validation.isDNS1123Subdomain(name),
    );
  });
}

function validateAddress(
  address: string,
  addressType: string,
  at: FieldPath,
  before: readonly string[] | undefined,
): FieldErrorList {
  if (addressType === 'FQDN') return fullName(address, at);
  if (addressType !== 'IPv4' && addressType !== 'IPv6') return [];
  const errors = legacyIP(address, at, before);
  if (errors.length > 0) return errors;
  const isOther = isIPv6(address) !== (addressType === 'IPv6');
  return [...(isOther ? [field.invalid(at, address, `must be an ${addressType} address`)] : []), ...nonSpecialIP(address, at)];
}

/** A name of several labels; the dot that says that it is whole may be there. */
function fullName(given: string, at: FieldPath): FieldErrorList {
  if (given === '') return [field.required(at)];
  const name = given.endsWith('.') ? given.slice(0, -1) : given;
  const problems = validation.isDNS1123Subdomain(name);
  if (problems.length > 0) return [field.invalid(at, name, problems.join(','))];
  const labels = name.split('.');
  if (labels.length < 2) {
    return [field.invalid(at, name, 'should be a domain with at least two segments separated by dots')];
  }
  const bad = labels.find((label) => validation.isDNS1123Label(label).length > 0);
  return bad === undefined ? [] : [field.invalid(at, bad, validation.isDNS1123Label(bad).join(','))];
}

function validatePorts(ports: readonly Immutable<discovery.EndpointPort>[]): FieldErrorList {
  const at = field.path('ports');
  if (ports.length > MAX_PORTS) return [field.tooMany(at, ports.length, MAX_PORTS)];
  const seen = new Set<string>();
  return ports.flatMap(({ name = '', protocol, port, appProtocol }, index) => {
    const place = at.index(index);
    const errors: FieldErrorList = [];
    if (name !== '') errors.push(...invalidEach(place.child('name'), name, validation.isDNS1123Label(name)));
    if (seen.has(name)) errors.push(field.duplicate(place.child('name'), name));
    seen.add(name);
    if (protocol === undefined) errors.push(field.required(place.child('protocol')));
    else if (!PROTOCOLS.includes(protocol)) errors.push(field.notSupported(place.child('protocol'), protocol, PROTOCOLS));
    if (port !== undefined) errors.push(...invalidEach(place.child('port'), port, validation.isValidPortNum(port)));
    if (appProtocol !== undefined) {
      errors.push(...invalidEach(place.child('appProtocol'), appProtocol, validation.isQualifiedName(appProtocol)));
    }
    return errors;
  });
}
