// The identity service: what this driver is.

import type { CsiSchema } from '#csi/schema.ts';
import type { RpcHandlers } from '#machinery/grpc/server.ts';
import type { DriverSettings } from './settings.ts';

export function identityService({
  name,
  version,
}: Pick<DriverSettings, 'name' | 'version'>): RpcHandlers<CsiSchema, 'Identity'> {
  return {
    GetPluginInfo: () => ({ name, vendorVersion: version }),
    GetPluginCapabilities: () => ({
      capabilities: [
        { service: { type: 'CONTROLLER_SERVICE' } },
        { service: { type: 'GROUP_CONTROLLER_SERVICE' } },
        { service: { type: 'VOLUME_ACCESSIBILITY_CONSTRAINTS' } },
        { volumeExpansion: { type: 'ONLINE' } },
      ],
    }),
    Probe: () => ({ ready: { value: true } }),
  };
}
