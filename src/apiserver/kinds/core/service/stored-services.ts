// Completes services that an older server has stored, before clusterIPs and families existed.

import type { IpFamily } from '#machinery/net/ip.ts';
import { otherFamily } from './families.ts';
import { withClusterIPs } from './idempotence.ts';
import { needsClusterIP, type Service, type ServiceSpec, without } from './service.ts';

type Families = Pick<ServiceSpec, 'ipFamilies' | 'ipFamilyPolicy'>;

/**
 * Returns a stored service as it is served; the same object if it is complete. `standard`: the
 * first family of the cluster. See pkg/registry/core/service/storage (defaultOnRead).
 */
export function completeStored(stored: Service, standard: IpFamily): Service {
  const service = withClusterIPs(stored);
  const { spec } = service;
  if (!needsClusterIP(service)) {
    // Earlier servers have set a policy that a service of this type does not use.
    if (spec.internalTrafficPolicy === undefined) return service;
    return { ...service, spec: without(spec, 'internalTrafficPolicy') };
  }
  // A service has both fields, or none.
  if ((spec.ipFamilies ?? []).length > 0) return service;
  const families = spec.clusterIP === 'None' ? headless(spec, standard) : ofAddresses(spec);
  return families === undefined ? service : { ...service, spec: { ...spec, ...families } };
}

/** A service without a selector has endpoints of any family. */
function headless({ selector }: ServiceSpec, standard: IpFamily): Families {
  return Object.keys(selector ?? {}).length === 0
    ? { ipFamilyPolicy: 'RequireDualStack', ipFamilies: [standard, otherFamily(standard)] }
    : { ipFamilyPolicy: 'SingleStack', ipFamilies: [standard] };
}

function ofAddresses({ clusterIPs = [] }: ServiceSpec): Families | undefined {
  if (clusterIPs.length === 0) return undefined;
  return {
    ipFamilyPolicy: clusterIPs.length === 1 ? 'SingleStack' : 'RequireDualStack',
    ipFamilies: clusterIPs.map((address) => (address.includes(':') ? 'IPv6' : 'IPv4')),
  };
}
