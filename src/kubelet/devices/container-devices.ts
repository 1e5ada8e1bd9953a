// Combines the responses of device plugins to the additions for a container's configuration.

import type { Mount } from '#cri/index.ts';
import type { DeviceAllocation } from './pod-devices.ts';

export interface DeviceNode {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly permissions: string;
}

export interface ContainerDevices {
  readonly envs: ReadonlyMap<string, string>;
  readonly mounts: readonly Mount[];
  readonly devices: readonly DeviceNode[];
  readonly annotations: Readonly<Record<string, string>>;
  /** Names of devices in specifications of the Container Device Interface. */
  readonly cdiDevices: readonly string[];
}

export const NO_DEVICES: ContainerDevices = {
  envs: new Map(),
  mounts: [],
  devices: [],
  annotations: {},
  cdiDevices: [],
};

/**
 * Combines the responses of a container's plugins. Where two of them disagree about a variable, a
 * path or an annotation, the first one counts; `onConflict` is called with the second.
 */
export function combineDevices(
  allocations: Iterable<DeviceAllocation>,
  onConflict: (what: string, name: string) => void = () => undefined,
): ContainerDevices {
  const envs = new Map<string, string>();
  const annotations = new Map<string, string>();
  const mounts = new Map<string, Mount>();
  const devices = new Map<string, DeviceNode>();
  const cdiDevices = new Set<string>();
  const put = (what: string, map: Map<string, string>, key: string, value: string): void => {
    if (!map.has(key)) map.set(key, value);
    else if (map.get(key) !== value) onConflict(what, key);
  };
  for (const { response } of allocations) {
    for (const [name, value] of Object.entries(response.envs))
      put('environment variable', envs, name, value);
    for (const [name, value] of Object.entries(response.annotations))
      put('annotation', annotations, name, value);
    for (const { containerPath, hostPath, readOnly } of response.mounts) {
      const before = mounts.get(containerPath);
      if (before === undefined)
        mounts.set(containerPath, { containerPath, hostPath, readonly: readOnly });
      else if (before.hostPath !== hostPath) onConflict('mount', containerPath);
    }
    for (const device of response.devices) {
      const before = devices.get(device.containerPath);
      if (before === undefined) devices.set(device.containerPath, device);
      else if (before.hostPath !== device.hostPath) onConflict('device', device.containerPath);
    }
    for (const { name } of response.cdiDevices) cdiDevices.add(name);
  }
  return {
    envs,
    mounts: [...mounts.values()],
    devices: [...devices.values()],
    annotations: Object.fromEntries(annotations),
    cdiDevices: [...cdiDevices],
  };
}
