// Device claims, classes and slices for tests.

import type {
  Device,
  DeviceClaim,
  DeviceRequest,
  ExactDeviceRequest,
  ResourceClaim as ApiResourceClaim,
  ResourceClaimStatus,
  ResourceSlice as ApiResourceSlice,
  ResourceSliceSpec,
} from '#api/groups/resource/v1/index.ts';
import type {
  DeviceClass,
  ResourceClaim,
  ResourceSlice,
} from '../plugins/dynamic-resources/objects.ts';

export const DRIVER = 'gpu.example.com';

const metadata = (name: string, namespace?: string) => ({
  name,
  ...(namespace !== undefined && { namespace }),
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
});

/** Returns a class for all devices of DRIVER, or with another expression. */
export function makeDeviceClass(
  name: string,
  expression = `device.driver == "${DRIVER}"`,
  more: Partial<DeviceClass['spec']> = {},
): DeviceClass {
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'DeviceClass',
    metadata: metadata(name),
    spec: { selectors: [{ cel: { expression } }], ...more },
  };
}

/** Returns a pool with one slice for one node; `more` overrides its fields. */
export function makeSlice(
  name: string,
  node: string | undefined,
  devices: readonly Device[],
  more: Partial<ResourceSliceSpec> = {},
): ResourceSlice {
  const slice: ApiResourceSlice = {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: metadata(name),
    spec: {
      driver: DRIVER,
      pool: { name, generation: 1, resourceSliceCount: 1 },
      ...(node !== undefined && { nodeName: node }),
      devices: [...devices],
      ...more,
    },
  };
  return slice;
}

/** Returns the request `name` for one device of the class `gpu`. */
export function request(name: string, more: Partial<ExactDeviceRequest> = {}): DeviceRequest {
  return {
    name,
    exactly: {
      deviceClassName: 'gpu',
      allocationMode: 'ExactCount',
      ...(more.allocationMode !== 'All' && { count: 1 }),
      ...more,
    },
  };
}

export function makeResourceClaim(
  name: string,
  requests: readonly DeviceRequest[] = [request('r')],
  more: Partial<DeviceClaim> = {},
  status: ResourceClaimStatus = {},
): ResourceClaim {
  const claim: ApiResourceClaim = {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata: metadata(name, 'default'),
    spec: { devices: { requests: [...requests], ...more } },
    status,
  };
  return claim;
}

/** Returns the spec of a pod that uses these claims. */
export function using(...claims: string[]) {
  return {
    resourceClaims: claims.map((resourceClaimName, i) => ({ name: `c${i}`, resourceClaimName })),
  };
}
