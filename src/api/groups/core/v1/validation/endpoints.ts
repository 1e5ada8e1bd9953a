// Validation of endpoints.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as core from '../types.ts';
import { invalidEach } from './common.ts';
import { isAddress, legacyIP } from './ip.ts';
import { nonSpecialIP } from './service-addresses.ts';

type Endpoints = Immutable<core.Endpoints>;
type Address = Immutable<core.EndpointAddress>;
type Port = Immutable<core.EndpointPort>;

const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

/** Validates an update. Unchanged subsets are accepted, even if they are invalid today. */
export function validateEndpointsUpdate(object: Endpoints, old: Endpoints): FieldErrorList {
  return semanticEqual(object.subsets, old.subsets) ? [] : validateEndpoints(object);
}

export function validateEndpoints({ subsets = [] }: Endpoints): FieldErrorList {
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [], ports = [] }, index) => {
    const at = field.path('subsets').index(index);
    const errors: FieldErrorList = [];
    if (addresses.length === 0 && notReadyAddresses.length === 0) {
      errors.push(field.required(at, 'must specify `addresses` or `notReadyAddresses`'));
    }
    addresses.forEach((each, i) => errors.push(...address(each, at.child('addresses').index(i))));
    notReadyAddresses.forEach((each, i) =>
      errors.push(...address(each, at.child('notReadyAddresses').index(i))),
    );
    ports.forEach((each, i) =>
      errors.push(...port(each, ports.length > 1, at.child('ports').index(i))),
    );
    return errors;
  });
}

function address({ ip, hostname = '', nodeName }: Address, at: FieldPath): FieldErrorList {
  return [
    ...legacyIP(ip, at.child('ip')),
    ...(hostname === ''
      ? []
      : invalidEach(at.child('hostname'), hostname, validation.isDNS1123Label(hostname))),
    ...(nodeName === undefined
      ? []
      : invalidEach(at.child('nodeName'), nodeName, validation.isDNS1123Subdomain(nodeName))),
    ...(isAddress(ip)
      ? nonSpecialIP(ip, at.child('ip'))
      : [field.invalid(at.child('ip'), ip, 'must be a valid IP address')]),
  ];
}

function port(
  { name = '', port: number, protocol, appProtocol }: Port,
  nameNeeded: boolean,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (name !== '')
    errors.push(...invalidEach(at.child('name'), name, validation.isDNS1123Label(name)));
  else if (nameNeeded) errors.push(field.required(at.child('name')));
  errors.push(...invalidEach(at.child('port'), number, validation.isValidPortNum(number)));
  if (protocol === undefined) errors.push(field.required(at.child('protocol')));
  else if (!PROTOCOLS.includes(protocol))
    errors.push(field.notSupported(at.child('protocol'), protocol, PROTOCOLS));
  if (appProtocol !== undefined) {
    errors.push(
      ...invalidEach(at.child('appProtocol'), appProtocol, validation.isQualifiedName(appProtocol)),
    );
  }
  return errors;
}
