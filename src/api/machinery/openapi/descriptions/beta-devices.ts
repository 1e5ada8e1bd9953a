// Descriptions of the beta versions of resource.k8s.io: those of v1, but for requests and devices.

import { devices } from './devices.ts';
import type { Descriptions, TypeDescription } from './form.ts';

const STABLE = 'resource/v1.';

function inVersion(version: string): Record<string, TypeDescription> {
  return Object.fromEntries(
    Object.entries(devices)
      .filter(([key]) => key.startsWith(STABLE))
      .map(([key, { type }]) => [
        `resource/${version}.${key.slice(STABLE.length)}`,
        { type, like: key },
      ]),
  );
}

const { 'resource/v1beta1.ExactDeviceRequest': _, ...first } = inVersion('v1beta1');
const request = devices['resource/v1.DeviceRequest'];

export const betaDevices: Descriptions = {
  ...inVersion('v1beta2'),
  ...first,
  'resource/v1beta1.DeviceRequest': {
    type: 'One request. Either deviceClassName or firstAvailable is set.',
    like: 'resource/v1.ExactDeviceRequest',
    fields: {
      name: request?.fields?.['name'] ?? '',
      firstAvailable: request?.fields?.['firstAvailable'] ?? '',
    },
  },
  'resource/v1beta1.Device': {
    type: 'A device.',
    like: 'resource/v1.Device',
    fields: { basic: 'The attributes, capacities and nodes of the device.' },
  },
  'resource/v1beta1.BasicDevice': {
    type: 'The attributes, capacities and nodes of a device.',
    like: 'resource/v1.Device',
  },
};
