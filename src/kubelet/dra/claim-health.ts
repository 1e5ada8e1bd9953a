// The health of claimed devices, as a container's status shows it.

import type { Container, ContainerStatus, Pod } from '../types.ts';
import { isForRequest } from './claim-info.ts';
import type { DraManager } from './dra-manager.ts';

type ResourceStatus = NonNullable<ContainerStatus['allocatedResourcesStatus']>[number];
type ResourceHealth = NonNullable<ResourceStatus['resources']>[number];

/** Returns the health by entry of the container's claims. Entries without devices are left out. */
export function claimHealth(
  manager: DraManager,
  pod: Pod,
  container: Container,
): readonly ResourceStatus[] {
  return (container.resources?.claims ?? []).flatMap(({ name, request = '' }) => {
    const info = manager.claimInfo(pod, name);
    // A request may name one of several alternatives: request/alternative.
    const [wanted = ''] = request.split('/');
    const resources = new Map<string, ResourceHealth>();
    for (const [driver, devices] of info?.drivers ?? []) {
      for (const { poolName, deviceName, requestNames, cdiDeviceIds } of devices) {
        if (!isForRequest(requestNames, wanted)) continue;
        const resourceID = cdiDeviceIds[0] ?? `${driver}/${poolName}/${deviceName}`;
        if (resources.has(resourceID)) continue;
        const { health, message } = manager.healthOf(driver, poolName, deviceName);
        resources.set(resourceID, { resourceID, health, ...(message !== '' && { message }) });
      }
    }
    if (resources.size === 0) return [];
    const label = request === '' ? `claim:${name}` : `claim:${name}/${request}`;
    return [{ name: label, resources: [...resources.values()] }];
  });
}
