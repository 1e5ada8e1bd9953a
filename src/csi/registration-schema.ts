// The API that plugins serve at their registration socket: package pluginregistration of k8s.io/kubelet.

import type { Message } from '#machinery/grpc/schema.ts';

export const registrationSchema = {
  package: 'pluginregistration',
  enums: {},
  messages: {
    PluginInfo: {
      type: [1, 'string'],
      name: [2, 'string'],
      endpoint: [3, 'string'],
      supportedVersions: [4, 'string[]'],
    },
    RegistrationStatus: { pluginRegistered: [1, 'bool'], error: [2, 'string'] },
    RegistrationStatusResponse: {},
    InfoRequest: {},
  },
  services: {
    Registration: {
      GetInfo: ['InfoRequest', 'PluginInfo'],
      NotifyRegistrationStatus: ['RegistrationStatus', 'RegistrationStatusResponse'],
    },
  },
} as const;

export type RegistrationSchema = typeof registrationSchema;
export type PluginInfoMessage = Message<RegistrationSchema, 'PluginInfo'>;
