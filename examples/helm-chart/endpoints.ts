// Reads which pods a service sends connections to.

import type { EmbeddedCluster } from 'coxswain';
import { endpointSlices } from 'coxswain/api/discovery/v1';

/** Returns the addresses of the ready endpoints of a service, when there are any. */
export async function readyEndpoints(
  cluster: EmbeddedCluster,
  service: string,
  namespace: string,
): Promise<readonly string[]> {
  const labelSelector = `kubernetes.io/service-name=${service}`;
  const slices = await cluster.list(endpointSlices, { namespace, labelSelector });
  return slices.flatMap(({ endpoints }) =>
    (endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready === true)
      .flatMap(({ addresses }) => addresses),
  );
}
