// Converts devices and claims of containers to messages of the API.

import type { Input } from '#machinery/grpc/schema.ts';
import type { AllocatedDevice } from '../devices/device-manager.ts';
import type { Device } from '../devices/schema.ts';
import type { ClaimInfo } from '../dra/claim-info.ts';
import type { MemoryBlock } from '../resource-managers/memory/machine-state.ts';
import type { PodResourcesSchema } from './schema.ts';

type ContainerDevices = Input<PodResourcesSchema, 'ContainerDevices'>;
type ContainerMemory = Input<PodResourcesSchema, 'ContainerMemory'>;
type DynamicResource = Input<PodResourcesSchema, 'DynamicResource'>;

/** Returns one entry per device and NUMA node, as upstream. */
export function deviceMessages(devices: readonly AllocatedDevice[]): readonly ContainerDevices[] {
  return devices.flatMap(({ resource, id, numaNodes }) => entries(resource, id, numaNodes));
}

/** Returns the same for all healthy devices. */
export function allocatableMessages(
  devices: ReadonlyMap<string, readonly Device[]>,
): readonly ContainerDevices[] {
  return [...devices].flatMap(([resource, list]) =>
    list.flatMap(({ id, topology }) =>
      entries(
        resource,
        id,
        (topology?.nodes ?? []).map((node) => node.id),
      ),
    ),
  );
}

function entries(
  resourceName: string,
  id: string,
  numaNodes: readonly number[],
): readonly ContainerDevices[] {
  const entry = { resourceName, deviceIds: [id] };
  if (numaNodes.length === 0) return [entry];
  return numaNodes.map((node) => ({ ...entry, topology: { nodes: [{ id: node }] } }));
}

export function memoryMessages(blocks: readonly MemoryBlock[]): readonly ContainerMemory[] {
  return blocks.map(({ resource, size, nodes }) => ({
    memoryType: resource,
    size,
    topology: { nodes: nodes.map((id) => ({ id })) },
  }));
}

export function claimMessages(claims: readonly ClaimInfo[]): readonly DynamicResource[] {
  return claims.map(({ name, namespace, drivers }) => ({
    claimName: name,
    claimNamespace: namespace,
    claimResources: [...drivers].flatMap(([driverName, devices]) =>
      devices.map(({ poolName, deviceName, shareId, cdiDeviceIds }) => ({
        driverName,
        poolName,
        deviceName,
        ...(shareId !== undefined && { shareId }),
        cdiDevices: cdiDeviceIds.map((id) => ({ name: id })),
      })),
    ),
  }));
}
